#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/importers/trace_events.hpp"

namespace ddl {

/// The events of a trace as they called each other, and the training steps they belong to.
class TraceSteps {
 public:
  explicit TraceSteps(const Trace& trace);

  /// An event of the processor. Those that it called are the ones behind it, up to `end`.
  struct Node {
    const TraceEvent* event = nullptr;
    std::size_t end = 0;
  };
  /// Operators that no other one called, in the order of their start, by what they belong to.
  struct Step {
    double seconds = 0;                   ///< on the clock
    double busy = 0;                      ///< of the device's kernels; of a trace without any, `seconds`
    std::vector<std::size_t> forward{};   ///< on the thread that runs the model; whatever is no other
    std::vector<std::size_t> backward{};  ///< nodes of autograd, on any thread
    std::vector<std::size_t>
        optimizer{};                    ///< regions `Optimizer.step#…`, and what scales gradients, each with all it called
    std::vector<std::size_t> others{};  ///< `Optimizer.zero_grad#…`
  };

  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  /// Steps behind those: as many samples as a measurement takes at most (SamplingRule) are enough.
  [[nodiscard]] std::size_t left_out() const { return left_out_; }
  /// Whether steps were marked (`ProfilerStep#…`); otherwise the whole trace is one.
  [[nodiscard]] bool marked() const { return marked_; }
  /// Whether times are those of kernels on a device.
  [[nodiscard]] bool of_device() const { return of_device_; }

  [[nodiscard]] const Node& node(std::size_t index) const { return nodes_[index]; }
  [[nodiscard]] std::string_view name(std::size_t node) const { return name_of(*nodes_[node].event); }
  [[nodiscard]] std::string_view name_of(const TraceEvent& event) const {
    return trace_.names[static_cast<std::size_t>(event.name)];
  }
  /// Without shapes where the trace has none.
  [[nodiscard]] const OperatorShapes& shapes(std::size_t node) const;
  /// Of a node and all it called: time of the device's kernels, or on the clock in a trace without any.
  [[nodiscard]] double seconds(std::size_t node) const;
  /// Kernels that a node, or what it called, started: name and time.
  [[nodiscard]] std::vector<std::pair<std::string_view, double>> kernels(std::size_t node) const;

 private:
  void build_tree();
  void place_kernels();
  void find_steps();
  void sort_into_steps();

  const Trace& trace_;
  std::vector<Node> nodes_;        ///< a thread's behind each other, callers before what they called
  std::vector<bool> in_operator_;  ///< of each node, whether an operator called it
  /// Kernels by the node that started them, and time of the kernels of all nodes before one.
  std::vector<std::vector<const TraceEvent*>> started_;
  std::vector<double> before_;
  std::vector<Step> steps_;
  std::vector<std::pair<double, double>> spans_;  ///< of the steps, from start to end
  std::size_t left_out_ = 0;
  bool marked_ = false, of_device_ = false;
};

/// `autograd::engine::evaluate_function: AddmmBackward0`: one node of the backward pass with what the engine does around it.
[[nodiscard]] bool is_backward_node(std::string_view name);

}  // namespace ddl
