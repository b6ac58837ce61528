#include "profiler/measurement.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "profiler/attribute_text.hpp"

namespace ddl {
namespace {

constexpr std::array<CacheState, 3> cache_states{CacheState::warm, CacheState::cold, CacheState::step};

/// Tensors of a problem's passes, each made when it is first asked for and filled with values that keep kernels at their
/// usual pace: no denormals, no overflow.
class Tensors {
 public:
  Tensors(KernelBackend& backend, std::int64_t token_rows) : backend_(backend), token_rows_(token_rows) {}

  std::vector<DeviceBuffer*> of(const PreparedKernel& kernel) {
    std::vector<DeviceBuffer*> bound;
    for (const KernelTensor& tensor : kernel.tensors()) {
      auto& buffer = buffers_[{tensor.role, tensor.index}];
      if (!buffer) {
        buffer = backend_.allocate(tensor.items, tensor.precision);
        if (tensor.role != TensorRole::kept) fill(*buffer, tensor.role);
      }
      bound.push_back(buffer.get());
    }
    return bound;
  }

 private:
  void fill(DeviceBuffer& buffer, TensorRole role) {
    std::vector<float> values(static_cast<std::size_t>(buffer.items()));
    const bool tokens = token_rows_ > 0 && role == TensorRole::input;
    // The second moments of an optimizer are squares.
    const bool positive = role == TensorRole::optimizer_state;
    std::minstd_rand random(static_cast<unsigned>(role) + 1U);
    // Drawing every item of a large tensor would take longer than most kernels: a block is repeated.
    constexpr std::size_t block = std::size_t{1} << 16U;
    for (std::size_t i = 0; i < std::min(block, values.size()); ++i) {
      const auto drawn = static_cast<float>(random()) / static_cast<float>(std::minstd_rand::max());  // in (0, 1]
      values[i] = tokens ? std::floor(drawn * 0.999F * static_cast<float>(token_rows_)) : (positive ? drawn : 2 * drawn - 1);
    }
    for (std::size_t i = block; i < values.size(); i += block) {
      std::copy_n(values.begin(), std::min(block, values.size() - i), values.begin() + static_cast<std::ptrdiff_t>(i));
    }
    buffer.write(values);
  }

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
