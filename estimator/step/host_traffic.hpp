#pragma once

#include "core/quantity.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Returns the bandwidth from a device to host memory in one direction, while all devices of a node
/// use the host; zero if the machine file does not give the bandwidth.
[[nodiscard]] Bandwidth host_link(const Machine& machine);

/// Returns the time of an update by the host's processors, which hold the master copies and optimizer state of each rank's
/// `trained` parameters. Gradients are copied to the host, the processors read and write the state, and weights are copied
/// back. The three operations follow one another, as in Megatron-LM without `--overlap-cpu-optimizer-d2h-h2d`. Host memory
/// bandwidth limits the processors.
[[nodiscard]] Seconds host_update_time(const Job& job, const Plan& plan, double trained);

/// Returns the time of one copy of the weights of `parameters` parameters from the host.
[[nodiscard]] Seconds weights_from_host(const Job& job, const Plan& plan, double parameters);

/// Returns the bytes of parameters that the ranks of one node keep in host memory; zero without offload of parameters.
[[nodiscard]] Bytes host_parameters(const Job& job, const Plan& plan);

}  // namespace ddl
