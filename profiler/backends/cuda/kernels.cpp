#include "profiler/backends/cuda/kernels.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {
namespace {

/// Maximum number of engines that are tried for graphs without matrix products or convolutions.
/// These engines are compiled when they are tried, which takes seconds.
constexpr std::size_t tries_of_others = 3;

class Kernel final : public PreparedKernel {
 public:
  Kernel(std::string algorithm, std::vector<KernelTensor> tensors, Work work, std::size_t workspace)
      : algorithm_(std::move(algorithm)), tensors_(std::move(tensors)), work_(std::move(work)), workspace_(workspace) {}

  std::span<const KernelTensor> tensors() const override { return tensors_; }
  void run(std::span<DeviceBuffer* const> buffers) override {
    addresses_.clear();
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      // A kernel writes without bounds checks, so memory that is too small would corrupt another tensor.
      if (!buffers[i]->holds(tensors_[i])) throw Error("a tensor was given memory of another size");
      addresses_.push_back(static_cast<CudaBuffer*>(buffers[i])->data());
    }
    if (work_) work_(addresses_);
  }
  Bytes workspace() const override { return Bytes(static_cast<double>(workspace_)); }
  std::string algorithm() const override { return algorithm_; }

 private:
  std::string algorithm_;
  std::vector<KernelTensor> tensors_;
  Work work_;
  std::size_t workspace_;
  std::vector<void*> addresses_;
};

/// Memory for tuning a candidate, with values in (-1, 1). Tensors of indices or bits contain zeros, because other values may
/// be invalid.
DeviceMemory values_for(const Device& device, const Graph::Stored& stored) {
  for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16}) {
    if (data_type(precision) == stored.type) return values(device, stored.items, precision);
  }
  DeviceMemory memory(buffer_bytes(static_cast<std::int64_t>(stored.bytes), Precision::fp32, true));
  check(cudaMemsetAsync(memory.data(), 0, memory.bytes(), device.stream), "clearing a tensor");
  return memory;
}

}  // namespace

device::Number number(Precision precision) {
  switch (precision) {
    case Precision::fp16:
      return device::Number::fp16;
    case Precision::bf16:
      return device::Number::bf16;
    case Precision::fp32:
    case Precision::tf32:
    case Precision::fp8:
    case Precision::nvfp4:
    case Precision::mxfp8:
    case Precision::mxfp6:
    case Precision::mxfp4:
    case Precision::int8:
      break;
  }
  return device::Number::fp32;
}

device::Launch Device::launch(Precision precision) const { return {stream, number(precision)}; }

DeviceMemory values(const Device& device, std::int64_t items, Precision precision) {
  DeviceMemory memory(buffer_bytes(items, precision, false));
  started(device::fill(device.launch(precision), memory.data(), items));
  return memory;
}

double shortest_time(const Device& device, const std::function<void()>& work) {
  constexpr int runs = 3;
  constexpr int together = 8;
  TimedWork one(work);
  static_cast<void>(device.stopwatch->time(one));
  const int count = device.stopwatch->time(one) < shortest_alone ? together : 1;
  TimedWork several([&] {
    for (int i = 0; i < count; ++i) work();
  });
  double shortest = std::numeric_limits<double>::infinity();
  for (int run = 0; run <= runs; ++run) {
    const double time = device.stopwatch->time(several).value() / count;
    if (run > 0) shortest = std::min(shortest, time);
  }
  return shortest;
}

Choice choose(const Device& device, const Candidates& candidates) {
  if (const auto known = device.choices.find(candidates.key); known != device.choices.end()) return {known->second};
  std::optional<Error> reason;
  bool is_final = true;
  std::optional<std::size_t> best;
  double least = std::numeric_limits<double>::infinity();
  std::size_t ran = 0;
  for (std::size_t i = 0; i < candidates.count && ran < candidates.tries; ++i) {
    try {
      const std::size_t workspace = candidates.workspace(i);
      const bool takes_first = device.options.algorithm == AlgorithmPreference::first ||
                               (device.options.algorithm == AlgorithmPreference::framework && candidates.framework_first);
      const bool times = !takes_first && device.options.algorithm != AlgorithmPreference::smallest;
      double cost = 0;
      if (times || candidates.must_run) cost = candidates.time(i);
      if (!times) cost = 0;
      if (device.options.algorithm == AlgorithmPreference::smallest) cost = static_cast<double>(workspace);
      ++ran;
      if (cost < least) {
        least = cost;
        best = i;
      }
      if (takes_first) break;
    } catch (const OutOfMemory& error) {
      reason = error;
      is_final = false;
    } catch (const Error& error) {
      reason = error;
    }
  }
  if (!best && !is_final) throw OutOfMemory(reason->what());
  if (!best) throw reason ? *reason : Error("the library has no kernel for this problem");
  if (is_final) device.choices[candidates.key] = *best;
  return {*best, is_final};
}

struct ReadyGraph {
  Graph graph;
  Descriptor configuration;  ///< must outlive its plan
  Plan plan;
  bool is_final;  ///< the same as Choice::is_final
};

namespace {

/// Chooses an engine for a graph and prepares it.
std::shared_ptr<const ReadyGraph> make_ready(const Device& device, Graph graph, Precision precision,
                                             const std::string& key) {
  std::vector<Descriptor> configurations = graph.configurations(device.target);
  if (graph.multiplies()) {
    std::erase_if(configurations, [&](const Descriptor& one) { return !is_exact_enough(one, precision); });
  }
  if (configurations.empty()) throw Error("cuDNN has no engine for this problem in the required precision");
  std::vector<DeviceMemory> tensors;
  std::unique_ptr<Plan> plan;  // plan of the current candidate
  DeviceMemory workspace;
  const Candidates candidates{
      .key = key,
      .count = configurations.size(),
      .workspace =
          [&](std::size_t i) {
            plan.reset();
            plan = std::make_unique<Plan>(device.target, configurations[i]);
            return plan->workspace();
          },
      .time =
          [&](std::size_t) {
            std::vector<std::pair<Graph::Tensor, void*>> addresses;
            for (std::size_t t = 0; t < graph.stored().size(); ++t) {
              const Graph::Stored& stored = graph.stored()[t];
              if (tensors.size() == t) tensors.push_back(values_for(device, stored));
              addresses.emplace_back(stored.tensor, tensors[t].data());
            }
            for (const auto& [tensor, value] : graph.scalars()) addresses.emplace_back(tensor, const_cast<float*>(&value));
            workspace = DeviceMemory();
            workspace = DeviceMemory(plan->workspace());
            Addresses pack;
            const Descriptor& bound = pack.of(addresses, workspace.data());
            return shortest_time(device, [&] { plan->execute(device.target, bound); });
          },
      .tries = graph.multiplies() ? Candidates{}.tries : tries_of_others,
  };
  const auto [chosen, is_final] = choose(device, candidates);
  plan.reset();
  Plan ready(device.target, configurations[chosen]);
  return std::make_shared<const ReadyGraph>(
      ReadyGraph{std::move(graph), std::move(configurations[chosen]), std::move(ready), is_final});
}

}  // namespace

GraphRunner::GraphRunner(const Device& device, Graph graph, Precision precision, const std::string& key) {
  if (const auto known = device.graphs.find(key); known != device.graphs.end()) {
    ready_ = known->second;
  } else {
    ready_ = make_ready(device, std::move(graph), precision, key);
    if (ready_->is_final) device.graphs.emplace(key, ready_);
  }
  device.workspace.reserve(workspace());
}

std::string GraphRunner::name() const { return ready_->plan.name(); }
std::size_t GraphRunner::workspace() const { return ready_->plan.workspace(); }

void GraphRunner::run(const Device& device, std::vector<std::pair<Graph::Tensor, void*>> addresses) {
  for (const auto& [tensor, value] : ready_->graph.scalars()) {
    addresses.emplace_back(tensor, const_cast<float*>(&value));
  }
  device.workspace.reserve(workspace());
  ready_->plan.execute(device.target, addresses_.of(addresses, device.workspace.data()));
}

std::shared_ptr<GraphRunner> run_graph(const Device& device, Graph graph, Precision precision, const std::string& key,
                                       std::string* reason) {
  try {
    return std::make_shared<GraphRunner>(device, std::move(graph), precision, key);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    if (reason != nullptr) *reason = error.what();
    return nullptr;
  }
}

bool library_runs(const Device& device, Problem problem, const std::function<Graph(const Problem&)>& graph) {
  problem.pass = Pass::forward;
  const std::string key = print_problem(problem) + " in both directions";
  if (const auto known = device.choices.find(key); known != device.choices.end()) return known->second != 0;
  bool runs = true;
  for (const Pass pass : {Pass::forward, Pass::backward_data}) {
    problem.pass = pass;
    runs = runs && run_graph(device, graph(problem), problem.precision, print_problem(problem)) != nullptr;
  }
  device.choices[key] = runs ? 1 : 0;
  return runs;
}

std::unique_ptr<PreparedKernel> make_kernel(std::string algorithm, std::vector<KernelTensor> tensors, Work work,
                                            std::size_t workspace) {
  return std::make_unique<Kernel>(std::move(algorithm), std::move(tensors), std::move(work), workspace);
}

std::unique_ptr<PreparedKernel> empty_kernel() { return make_kernel("", {}, {}); }

void started(cudaError_t status) { check(status, "launching a kernel"); }

KernelTensor flat(TensorRole role, int index, std::int64_t items, bool written, Precision precision) {
  return {.role = role, .index = index, .items = items, .written = written, .precision = precision};
}

device::Image image_of(const Device& device, const TensorShape& shape, std::int64_t samples) {
  return {samples, shape.channels, shape.positions(), shape.sequence || device.options.layout == ImageLayout::channels_last};
}

KernelTensor image_tensor(const Device& device, TensorRole role, int index, const TensorShape& shape, const Problem& problem,
                          bool written) {
  KernelTensor tensor = flat(role, index, problem.samples * shape.items(), written, problem.precision);
  if (!shape.sequence && device.options.layout == ImageLayout::channels_last) {
    tensor.channels = shape.channels;
    tensor.positions = shape.positions();
  }
  return tensor;
}

std::string no_refusal(const Problem& /*problem*/) { return {}; }

}  // namespace ddl::cuda
