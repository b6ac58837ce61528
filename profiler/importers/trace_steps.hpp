#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/importers/trace_events.hpp"

namespace ddl {

/// The events of a trace as a call tree, and the training steps to which they belong.
class TraceSteps {
 public:
  explicit TraceSteps(const Trace& trace);

  /// A CPU event. The events that it called follow in the list, up to the index `end`.
  struct Node {
    const TraceEvent* event = nullptr;
    std::size_t end = 0;
  };
  /// Top-level operators in the order of their start, grouped by the part of a step.
  struct Step {
    double seconds = 0;  ///< wall-clock time
    double busy = 0;     ///< time of the device's kernels and copies; in a trace without kernels, `seconds`
    double copies = 0;   ///< part of `busy`: copies between host and device, which belong to no operator
    /// events on the thread that runs the model, and all events that are in none of the following groups
    std::vector<std::size_t> forward{};
    std::vector<std::size_t> backward{};   ///< autograd nodes, on any thread
    std::vector<std::size_t> optimizer{};  ///< regions `Optimizer.step#…`, and gradient scaling, each with all nested calls
    std::vector<std::size_t> others{};     ///< `Optimizer.zero_grad#…`
  };

  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  /// The number of steps that are ignored because they exceed the maximum number of samples of a measurement (SamplingRule).
  [[nodiscard]] std::size_t left_out() const { return left_out_; }
  /// Whether steps were marked (`ProfilerStep#…`); otherwise the whole trace is one step.
  [[nodiscard]] bool marked() const { return marked_; }
  /// Whether the trace has times of kernels on a GPU; otherwise times are wall-clock times.
  [[nodiscard]] bool of_device() const { return of_device_; }

  [[nodiscard]] const Node& node(std::size_t index) const { return nodes_[index]; }
  [[nodiscard]] std::string_view name(std::size_t node) const { return name_of(*nodes_[node].event); }
  [[nodiscard]] std::string_view name_of(const TraceEvent& event) const {
    return trace_.names[static_cast<std::size_t>(event.name)];
  }
  /// The shapes of an operator's arguments; empty if the trace has no shapes.
  [[nodiscard]] const OperatorShapes& shapes(std::size_t node) const;
  /// The time of a node and all its calls, in seconds: kernel time on the device, or wall-clock
  /// time in a trace without kernels.
  [[nodiscard]] double seconds(std::size_t node) const;
  /// The name and the time, in seconds, of each kernel that a node, or its calls, launched.
  [[nodiscard]] std::vector<std::pair<std::string_view, double>> kernels(std::size_t node) const;

 private:
  void build_tree();
  void place_kernels();
  void find_steps();
  void sort_into_steps();

  const Trace& trace_;
  std::vector<Node> nodes_;        ///< thread by thread, callers before their calls
  std::vector<bool> in_operator_;  ///< for each node, whether an operator called it
  /// `started_`: for each node, the kernels that it launched. `before_`: for each node, the total
  /// kernel time of all earlier nodes.
  std::vector<std::vector<const TraceEvent*>> started_;
  std::vector<double> before_;
  std::vector<std::pair<std::size_t, double>> copies_;  ///< copies between host and device: launching node, and time
  std::vector<Step> steps_;
  std::vector<std::pair<double, double>> spans_;  ///< start and end of each step
  std::size_t left_out_ = 0;
  bool marked_ = false, of_device_ = false;
};

/// Returns whether a name belongs to a node of the backward pass, or to the engine's work around a node, such as
/// `autograd::engine::evaluate_function: AddmmBackward0`; before PyTorch 1.10: `AddmmBackward`.
[[nodiscard]] bool is_backward_node(std::string_view name);

}  // namespace ddl
