#pragma once

#include "core/quantity.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Returns the bandwidth of a device to the memory of its host, one direction, while all devices of a node use it; zero if
/// the machine does not say.
[[nodiscard]] Bandwidth host_link(const Machine& machine);

/// Returns the time of an update by the processors of the host, whose memory holds masters and state of `trained` parameters
/// of each rank: gradients go down, the processors read and write the state, weights come up, one after the other, as
/// Megatron-LM does without `--overlap-cpu-optimizer-d2h-h2d`. Memory of the host limits the processors' part.
[[nodiscard]] Seconds host_update_time(const Job& job, const Plan& plan, double trained);

/// Returns the time in which the weights of `parameters` parameters come up from the host once.
[[nodiscard]] Seconds weights_from_host(const Job& job, const Plan& plan, double parameters);

/// Returns the bytes that the ranks of one node keep in its memory, of parameters alone; zero without offload.
[[nodiscard]] Bytes host_parameters(const Job& job, const Plan& plan);

}  // namespace ddl
