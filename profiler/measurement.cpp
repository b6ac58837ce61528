#include "profiler/measurement.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "profiler/attribute_text.hpp"
#include "profiler/tensor_values.hpp"

namespace ddl {
namespace {

constexpr std::array<CacheState, 3> cache_states{CacheState::warm, CacheState::cold, CacheState::step};

/// Tensors of a problem's passes, each made when it is first asked for.
class Tensors {
 public:
  Tensors(KernelBackend& backend, std::int64_t token_rows) : backend_(backend), token_rows_(token_rows) {}

  std::vector<DeviceBuffer*> of(const PreparedKernel& kernel) {
    std::vector<DeviceBuffer*> bound;
    for (const KernelTensor& tensor : kernel.tensors()) {
      auto& buffer = buffers_[{tensor.role, tensor.index}];
      if (!buffer) {
        buffer = backend_.allocate_for(tensor);
        fill(*buffer, tensor.role, token_rows_);
      }
      bound.push_back(buffer.get());
    }
    return bound;
  }

 private:
  KernelBackend& backend_;
  std::int64_t token_rows_;
  std::map<std::pair<TensorRole, int>, std::unique_ptr<DeviceBuffer>> buffers_;
};

/// Whether the layer that ran just before made this tensor.
bool is_fresh(TensorRole role, Pass pass) {
  return role == (pass == Pass::forward ? TensorRole::input : TensorRole::output_gradient);
}

void run_samples(KernelBackend& backend, PreparedKernel& kernel, std::span<DeviceBuffer* const> buffers, Pass pass,
                 const SamplingRule& rule, CacheState caches, const std::function<bool()>& stop, Measurement& measurement) {
  measurement.algorithm = kernel.algorithm();
  measurement.workspace = kernel.workspace();
  if (measurement.algorithm.empty()) return;
  measurement.samples = take_samples(
      rule,
      [&] {
        if (caches != CacheState::warm) backend.evict(buffers);
        if (caches == CacheState::step) {
          for (std::size_t i = 0; i < buffers.size(); ++i) {
            if (is_fresh(kernel.tensors()[i].role, pass)) backend.touch(*buffers[i]);
          }
        }
        return backend.time([&] { kernel.run(buffers); });
      },
      stop);
}

}  // namespace

std::string_view to_string(CacheState state) {
  switch (state) {
    case CacheState::warm:
      return "warm";
    case CacheState::cold:
      return "cold";
    case CacheState::step:
      return "step";
  }
  return "";
}

std::optional<CacheState> parse_cache_state(std::string_view text) {
  const auto found =
      std::find_if(cache_states.begin(), cache_states.end(), [text](CacheState state) { return to_string(state) == text; });
  return found == cache_states.end() ? std::nullopt : std::optional(*found);
}

Measurement measure(KernelBackend& backend, const std::string& line, const SamplingRule& rule, CacheState caches,
                    const std::function<bool()>& stop) {
  Measurement measurement;
  if (is_update_problem(line)) {
    const UpdateProblem problem = parse_update_problem(line, "the problem");
    measurement.problem = print_problem(problem);
    measurement.reason = backend.refusal(problem);
    if (!measurement.reason.empty()) return measurement;
    try {
      Tensors tensors(backend, 0);
      const std::unique_ptr<PreparedKernel> kernel = backend.prepare(problem);
      run_samples(backend, *kernel, tensors.of(*kernel), Pass::update, rule, caches, stop, measurement);
    } catch (const Error& error) {
      measurement.reason = error.what();
    }
    return measurement;
  }
  if (is_fresh_memory_problem(line)) {
    const FreshMemoryProblem problem = parse_fresh_memory_problem(line, "the problem");
    measurement.problem = print_problem(problem);
    if (!backend.maps_pages()) {
      measurement.reason = "the memory of this device is not mapped page by page";
      return measurement;
    }
    measurement.algorithm = "first touch";
    try {
      measurement.samples = take_samples(
          rule, [&] { return backend.first_touch(Bytes(static_cast<double>(problem.bytes))); }, stop);
    } catch (const Error& error) {
      measurement.reason = error.what();
    }
    return measurement;
  }
  const Problem problem = parse_problem(line, "the problem");
  measurement.problem = print_problem(problem);
  measurement.reason = backend.refusal(problem);
  if (!measurement.reason.empty()) return measurement;
  try {
    Tensors tensors(backend, AttributeText(*problem.operation).integer("vocabulary", 0));
    const std::unique_ptr<PreparedKernel> kernel = backend.prepare(problem);
    if (problem.pass != Pass::forward) {
      Problem first = problem;
      first.pass = Pass::forward;
      const std::unique_ptr<PreparedKernel> forward = backend.prepare(first);
      const std::vector<DeviceBuffer*> bound = tensors.of(*forward);
      static_cast<void>(backend.time([&] { forward->run(bound); }));
    }
    run_samples(backend, *kernel, tensors.of(*kernel), problem.pass, rule, caches, stop, measurement);
  } catch (const Error& error) {
    measurement.reason = error.what();
  }
  return measurement;
}

}  // namespace ddl
