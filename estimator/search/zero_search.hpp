#pragma once

#include <optional>

#include "estimator/memory/verdict.hpp"
#include "estimator/search/search.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Searches a ZeRO stage for each block and for the layers outside blocks, as Galvatron does [Wang et al., "Improving
/// automatic parallel training via balanced memory workload optimization", IEEE TKDE 36(8), 2024: data parallelism and
/// sharded data parallelism for each layer]. A knapsack for each stage of the pipeline: blocks of one kind have one or two
/// ZeRO stages. The time of a choice is assumed to lie between the times of plans with one ZeRO stage, and its memory to add
/// up. The estimator checks the memory, and single blocks change their ZeRO stage as long as the step becomes shorter.
/// Returns the fastest plan with several ZeRO stages that has the verdict `allowed` or a better one; nothing if one ZeRO
/// stage is best, or if the user chose it. `alike`: the plan whose other choices are kept.
[[nodiscard]] std::optional<Plan> best_sharding(const Estimator& estimator, const SearchOptions& options, const Plan& alike,
                                                Verdict allowed);

}  // namespace ddl
