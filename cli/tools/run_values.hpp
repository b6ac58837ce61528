#pragma once

#include <cstdint>

#include "cli/tools/configuration_format.hpp"
#include "cli/tools/transformer.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// What a plan says of degrees, batch and choices, for the files of one format. `layers`: of the model.
[[nodiscard]] RunValues values_of(const Plan& plan, const ConfigurationFormat& format, std::int64_t layers);
/// Adds what a decoder says of the model.
void add_model(RunValues& values, const Transformer& model);

}  // namespace ddl
