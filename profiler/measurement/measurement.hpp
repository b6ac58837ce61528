#pragma once

#include <functional>
#include <string>

#include "core/enum_array.hpp"
#include "core/quantity.hpp"
#include "profiler/backends/kernel_backend.hpp"
#include "profiler/measurement/sampler.hpp"

namespace ddl {

/// The content of the caches when a kernel starts.
enum class CacheState {
  warm,  ///< the kernel's own tensors, left by its previous run
  cold,  ///< none of the kernel's data is in the caches
  step,  ///< only the output of the previous layer, as in a training step
};
template <>
inline constexpr EnumNames<CacheState> enum_names<CacheState>{"warm", "cold", "step"};

/// The result of measuring one problem.
struct Measurement {
  std::string problem{};    ///< the problem as a line
  Samples samples{};        ///< empty if nothing ran
  Bytes workspace{};        ///< scratch memory of the kernel
  std::string algorithm{};  ///< the library's name of the algorithm; empty for a kernel without work, which takes no time
  std::string reason{};     ///< why the problem was not measured; empty if it was measured
  bool host_bound = false;  ///< whether the device waited for the host in some samples, which are therefore too long
};

/// Times work, in seconds. If the device waited for an interrupted host, the measured time is too long, and the timing is
/// repeated. After a few attempts, the time of the last attempt counts. `before` is called before each attempt.
[[nodiscard]] Seconds time_without_host(KernelBackend& backend, TimedWork& work, const std::function<void()>& before = {});

/// Prepares and times one problem or update. If the back end refuses the problem, or the device
/// fails, returns a Measurement with a reason. An invalid line is an Error. The tensors have random
/// values. If a backward pass needs values of the forward pass, a forward run computes them.
[[nodiscard]] Measurement measure(KernelBackend& backend, const std::string& line, const SamplingRule& rule,
                                  CacheState caches, const std::function<bool()>& stop = {});

}  // namespace ddl
