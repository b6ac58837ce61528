#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/report/document.hpp"
#include "model_zoo/files/convergence.hpp"

namespace ddl {

/// The section of what training to a target takes, by the batch: who has published it, the critical batch, and where larger
/// batches stop to save steps.
void add_convergence(Document& document, const Convergence& convergence);
[[nodiscard]] nlohmann::ordered_json convergence_to_json(const Convergence& convergence);

}  // namespace ddl
