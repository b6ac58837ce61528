#pragma once

#include <cstdint>

#include "cli/tools/configuration_format.hpp"
#include "cli/tools/transformer.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Returns the degrees, batch and choices of a plan as values for the configurations of one format.
/// `layers`: number of layers of the model.
[[nodiscard]] RunValues values_of(const Plan& plan, const ConfigurationFormat& format, std::int64_t layers);
/// Returns the number of layers around the blocks, 0 to 2, that count as a block so that all virtual stages are equal: the
/// embedding, then the loss. 0 if no number makes them equal.
[[nodiscard]] int outer_slots(const Plan& plan, std::int64_t layers);
/// Adds the values that describe the model's architecture.
void add_model(RunValues& values, const Transformer& model);

}  // namespace ddl
