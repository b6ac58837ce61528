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
  warm,  ///< the data of the previous run: the kernel's own tensors
  cold,  ///< no data of the kernel
  step,  ///< as in a training step: only the output of the previous layer
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

/// Times work, and repeats the timing if the device waited for the host. In this case, the measured time is not the time of
/// the device: the host was interrupted. After a few attempts, the time of the last attempt counts. `before` is called
/// before each attempt.
[[nodiscard]] Seconds time_without_host(KernelBackend& backend, TimedWork& work, const std::function<void()>& before = {});

/// Prepares and times one problem (or update). For a refusal, or a device error, returns a Measurement with a reason. An
/// invalid line is an Error. The tensors have random values, except for values of the forward pass that a backward pass
/// needs: a forward run computes these values.
[[nodiscard]] Measurement measure(KernelBackend& backend, const std::string& line, const SamplingRule& rule,
                                  CacheState caches, const std::function<bool()>& stop = {});

}  // namespace ddl
