#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/backends/cuda/device/kernels.hpp"
#include "profiler/backends/cuda/graph.hpp"
#include "profiler/backends/cuda/memory.hpp"
#include "profiler/backends/cuda/stopwatch.hpp"
#include "profiler/backends/kernel_backend.hpp"

struct cublasLtContext;

namespace ddl::cuda {

/// A graph with an engine made ready for it, which several kernels may run.
struct ReadyGraph;

/// What kernels are prepared for and run on.
struct Device {
  CudaOptions options;
  cudaStream_t stream = nullptr;
  cublasLtContext* products = nullptr;
  Target target;
  Stopwatch* stopwatch = nullptr;
  /// Scratch memory of the libraries' kernels, and of what lies between several kernels that are one here (attention).
  mutable Workspace workspace{}, between{};
  /// Candidates that were chosen, by what for: a kernel that is prepared again need not be tuned again.
  mutable std::map<std::string, std::size_t> choices{};
  /// By what for: engines that are compiled at run time take seconds to make ready.
  mutable std::map<std::string, std::shared_ptr<const ReadyGraph>> graphs{};

  [[nodiscard]] device::Launch launch(Precision precision) const;
};
[[nodiscard]] device::Number number(Precision precision);

/// Shorter kernels are timed several at a time: events show about 1.5 to 3 µs for nothing, in steps of about 0.5 µs.
inline constexpr Seconds shortest_alone{20e-6};

/// Time of `work` in the device's stream: the shortest of three after one that does not count. Seconds.
[[nodiscard]] double shortest_time(const Device& device, const std::function<void()>& work);

/// Memory with values in (-1, 1), for trying kernels out.
[[nodiscard]] DeviceMemory values(const Device& device, std::int64_t items, Precision precision);

/// Chooses among `count` candidates as the options ask. `workspace` says how much one needs, `time` how long it takes; both
/// throw where it does not run after all. Throws the last reason where none does.
struct Candidates {
  std::string key;  ///< what for, in words: the problem's line and the part of it
  std::size_t count = 0;
  std::function<std::size_t(std::size_t)> workspace;
  std::function<double(std::size_t)> time;
  std::size_t tries = 10;        ///< of the first that run, as in PyTorch (torch.backends.cudnn.benchmark_limit)
  bool must_run = false;         ///< nothing but running one tells whether it can
  bool framework_first = false;  ///< frameworks take the first without trying
};
struct Choice {
  std::size_t index = 0;
  bool is_final = true;  ///< memory ran out for none of those tried; others are chosen anew the next time
};
[[nodiscard]] Choice choose(const Device& device, const Candidates& candidates);

/// A graph with an engine chosen for it.
class GraphRunner {
 public:
  /// `key` names what it is for. Throws Error where no engine runs it.
  GraphRunner(const Device& device, Graph graph, Precision precision, const std::string& key);
  /// Addresses of the stored tensors.
  void run(const Device& device, std::vector<std::pair<Graph::Tensor, void*>> addresses);
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::size_t workspace() const;

 private:
  std::shared_ptr<const ReadyGraph> ready_;
  Addresses addresses_;
};

/// The same where the library runs the graph; nothing where it does not, and why in `reason`. OutOfMemory where it might.
[[nodiscard]] std::shared_ptr<GraphRunner> run_graph(const Device& device, Graph graph, Precision precision,
                                                     const std::string& key, std::string* reason = nullptr);

/// Whether the library runs both directions of the problem: what forward keeps, backward must be able to read.
[[nodiscard]] bool library_runs(const Device& device, Problem problem, const std::function<Graph(const Problem&)>& graph);

/// What a kernel does when it is run, with the addresses of its tensors in their order.
using Work = std::function<void(std::span<void* const>)>;
[[nodiscard]] std::unique_ptr<PreparedKernel> make_kernel(std::string algorithm, std::vector<KernelTensor> tensors,
                                                          Work work, std::size_t workspace = 0);
/// For passes that cost nothing: views, and gradients that another pass computes on the way.
[[nodiscard]] std::unique_ptr<PreparedKernel> empty_kernel();
/// Throws Error with the status of a kernel that did not start.
void started(cudaError_t status);

/// A tensor without order among its items, or one that lies in the device as in other memory.
[[nodiscard]] KernelTensor flat(TensorRole role, int index, std::int64_t items, bool written, Precision precision);
/// An image (or what it is cut to) in the layout asked for.
[[nodiscard]] KernelTensor image_tensor(const Device& device, TensorRole role, int index, const TensorShape& shape,
                                        const Problem& problem, bool written);
/// Its channels innermost or not, as kernels of our own are told.
[[nodiscard]] device::Image image_of(const Device& device, const TensorShape& shape, std::int64_t samples);

/// One kind of operation that this back end can run.
struct Kind {
  std::string_view type;
  /// Why not, or nothing.
  std::string (*refusal)(const Problem& problem);
  std::unique_ptr<PreparedKernel> (*prepare)(const Device& device, const Problem& problem);
};
// Each in the file of its name.
extern const Kind activation, add, additive_attention, attention, cast, channel_shuffle, class_token, combine, concat,
    convolution, crop, dispatch, dropout, embedding, flatten, fully_connected, identity, interaction, loss, lstm, multiply,
    norm, pool, position_embedding, reshape, resize, rotary_embedding, router, scale, select, slice, softmax, space_to_depth,
    transposed_convolution, window_attention;
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_update(const Device& device, const UpdateProblem& problem);
/// Of a list of tensors.
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_update_list(const Device& device, const UpdateProblem& problem);

[[nodiscard]] std::string no_refusal(const Problem& problem);

}  // namespace ddl::cuda
