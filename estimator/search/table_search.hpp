#pragma once

#include <optional>

#include "estimator/step/estimate.hpp"

namespace ddl {

/// Searches a way to hold each table of a recommendation model. Starts from plans in which the smallest tables are
/// replicated and all others are held in one way, as TorchRec's planner and HugeCTR do by a threshold of size [TorchRec,
/// torchrec/distributed/planner; NVIDIA, HugeCTR in MLPerf Training 3.1, `dp_sharding_threshold`]. Then changes one table
/// after the other while that is faster. `alike`: a plan of data parallelism, whose other choices are kept. Returns the
/// fastest plan that fits; nothing if it holds all tables in one way.
[[nodiscard]] std::optional<Estimate> best_by_table(const Estimator& estimator, const Plan& alike);

}  // namespace ddl
