#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "profiler/backends/cuda/device/kernels.hpp"
#include "profiler/backends/cuda/graph.hpp"
#include "profiler/backends/cuda/memory.hpp"
#include "profiler/backends/cuda/stopwatch.hpp"
#include "profiler/backends/kernel_backend.hpp"
#include "profiler/backends/kinds.hpp"

struct cublasLtContext;

namespace ddl::cuda {

/// A graph with an engine that is ready to run. Several kernels may share one ReadyGraph.
struct ReadyGraph;

/// The device and the library handles with which kernels are prepared and run.
struct Device {
  CudaOptions options;
  cudaStream_t stream = nullptr;
  cublasLtContext* products = nullptr;
  Target target;
  Stopwatch* stopwatch = nullptr;
  /// `workspace`: scratch memory of library kernels. `between`: intermediates of kernels that
  /// consist of several launches, such as attention.
  mutable Workspace workspace{}, between{};
  /// The index of the chosen candidate, by Candidates::key, so that each kernel is tuned only once.
  mutable std::map<std::string, std::size_t> choices{};
  /// The chosen engine of each graph, by Candidates::key. Engines that are compiled at run time take seconds to prepare.
  mutable std::map<std::string, std::shared_ptr<const ReadyGraph>> graphs{};

  [[nodiscard]] device::Launch launch(Precision precision) const;
};
[[nodiscard]] device::Number number(Precision precision);

/// Kernels that are shorter than this time are timed in groups, because two CUDA events without
/// work between them already differ by about 1.5 to 3 µs, in steps of about 0.5 µs.
inline constexpr Seconds shortest_alone{20e-6};

/// Time of `work` in the device's stream, in seconds: the minimum of three runs after one warm-up.
[[nodiscard]] double shortest_time(const Device& device, const std::function<void()>& work);

/// Allocates memory with values in (-1, 1), for tuning.
[[nodiscard]] DeviceMemory values(const Device& device, std::int64_t items, Precision precision);

/// The `count` candidates for a kernel, among which choose() selects one by the user's options. `workspace` returns the
/// scratch bytes of a candidate, and `time` returns its time in seconds. Both throw if the candidate cannot run. If none can
/// run, choose() throws the last of these errors.
struct Candidates {
  std::string key;  ///< the problem's line, and the part of the problem
  std::size_t count = 0;
  std::function<std::size_t(std::size_t)> workspace;
  std::function<double(std::size_t)> time;
  /// number of working candidates that are tried, as in PyTorch (torch.backends.cudnn.benchmark_limit)
  std::size_t tries = 10;
  bool must_run = false;         ///< whether a candidate has to run to find out whether it works
  bool framework_first = false;  ///< whether frameworks use the first candidate without trying others
};
struct Choice {
  std::size_t index = 0;
  bool is_final = true;  ///< false if a candidate ran out of memory: choose() is then repeated the next time
};
[[nodiscard]] Choice choose(const Device& device, const Candidates& candidates);

/// A graph with the engine that was chosen for it.
class GraphRunner {
 public:
  /// `key` describes the purpose of the graph. Throws Error if no engine runs the graph.
  GraphRunner(const Device& device, Graph graph, Precision precision, const std::string& key);
  /// Runs the graph's kernel on tensors at these addresses.
  void run(const Device& device, std::vector<std::pair<Graph::Tensor, void*>> addresses);
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::size_t workspace() const;

 private:
  std::shared_ptr<const ReadyGraph> ready_;
  Addresses addresses_;
};

/// Returns a kernel for the graph if the library supports it; otherwise returns null and sets `reason`. Throws OutOfMemory
/// if the kernel might work with more memory.
[[nodiscard]] std::shared_ptr<GraphRunner> run_graph(const Device& device, Graph graph, Precision precision,
                                                     const std::string& key, std::string* reason = nullptr);

/// Whether the library supports both the forward and the backward pass of the problem. One of them
/// is not enough, because backward must be able to read what forward keeps.
[[nodiscard]] bool library_runs(const Device& device, Problem problem, const std::function<Graph(const Problem&)>& graph);

/// The action of a kernel, called with the addresses of its tensors in their order.
using Work = std::function<void(std::span<void* const>)>;
[[nodiscard]] std::unique_ptr<PreparedKernel> make_kernel(std::string algorithm, std::vector<KernelTensor> tensors,
                                                          Work work, std::size_t workspace = 0);
/// A kernel for passes without cost: views, and gradients that another pass computes.
[[nodiscard]] std::unique_ptr<PreparedKernel> empty_kernel();
/// Throws Error with the status of a failed kernel launch.
void started(cudaError_t status);

/// Describes a tensor without a layout, or with equal layouts on the device and in host memory.
[[nodiscard]] KernelTensor flat(TensorRole role, int index, std::int64_t items, bool written, Precision precision);
/// Describes an image, or a part of an image, in the layout that the user requested.
[[nodiscard]] KernelTensor image_tensor(const Device& device, TensorRole role, int index, const TensorShape& shape,
                                        const Problem& problem, bool written);
/// Describes an image for our own kernels, including whether its channels are innermost.
[[nodiscard]] device::Image image_of(const Device& device, const TensorShape& shape, std::int64_t samples);

using Kind = KindOf<Device>;
DDL_KERNEL_KINDS(DDL_DECLARE_KIND)
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_update(const Device& device, const UpdateProblem& problem);
/// Prepares the update of a list of tensors.
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_update_list(const Device& device, const UpdateProblem& problem);

[[nodiscard]] std::string no_refusal(const Problem& problem);

}  // namespace ddl::cuda
