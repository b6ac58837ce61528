#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/report/document.hpp"
#include "model_zoo/files/convergence.hpp"

namespace ddl {

/// Adds the section about training to a target with different batches. It contains the source of the published results, the
/// critical batch, and the batch beyond which larger batches save no more steps.
void add_convergence(Document& document, const Convergence& convergence);
[[nodiscard]] nlohmann::ordered_json convergence_to_json(const Convergence& convergence);

}  // namespace ddl
