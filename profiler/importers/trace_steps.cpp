#include "profiler/importers/trace_steps.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "profiler/measurement/sampler.hpp"

namespace ddl {
namespace {

constexpr std::string_view step_mark = "ProfilerStep#";
constexpr std::string_view optimizer_step = "Optimizer.step#";
constexpr std::string_view optimizer_zero = "Optimizer.zero_grad#";

/// Whether an event is an operator rather than a region named by a user or a library: operators have a namespace.
bool is_operator(const TraceEvent& event, std::string_view name) {
  return event.kind == TraceEvent::Kind::operation && name.find("::") != std::string_view::npos;
}

/// Whether an event belongs to torch.amp.GradScaler, which divides gradients by the scale, and
/// checks them for infinities and NaN. This is part of an update.
bool is_of_scaler(std::string_view name) {
  return name == "aten::_amp_foreach_non_finite_check_and_unscale_" || name == "aten::_amp_update_scale_";
}

}  // namespace

bool is_backward_node(std::string_view name) {
  if (name.starts_with("autograd::engine::evaluate_function: ")) return true;
  // PyTorch before 1.10 names the node alone, without a number at its end.
  return name.ends_with("autograd::AccumulateGrad") ||
         (name.ends_with("Backward") && name.find(':') == std::string_view::npos &&
          name.find('.') == std::string_view::npos);
}

TraceSteps::TraceSteps(const Trace& trace) : trace_(trace) {
  build_tree();
  place_kernels();
  find_steps();
  sort_into_steps();
}

void TraceSteps::build_tree() {
  for (const TraceEvent& event : trace_.events) {
    if (event.kind != TraceEvent::Kind::kernel) nodes_.push_back({&event, 0});
  }
  std::stable_sort(nodes_.begin(), nodes_.end(), [](const Node& a, const Node& b) {
    if (a.event->thread != b.event->thread) return a.event->thread < b.event->thread;
    if (a.event->start != b.event->start) return a.event->start < b.event->start;
    return a.event->seconds > b.event->seconds;
  });
  // Times in a trace are rounded. If an event ends after another event, and begins less than this
  // time, in seconds, before the end of that event, it was not called by that event.
  constexpr double rounding = 1e-6;
  std::vector<std::size_t> open;
  in_operator_.resize(nodes_.size());
  const auto end_of = [](const TraceEvent& event) { return event.start + event.seconds; };
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const TraceEvent& event = *nodes_[i].event;
    while (!open.empty()) {
      const TraceEvent& caller = *nodes_[open.back()].event;
      const double end = end_of(caller);
      const bool called =
          event.thread == caller.thread && event.start < end && (end_of(event) <= end || event.start < end - rounding);
      if (called) break;
      nodes_[open.back()].end = i;
      open.pop_back();
    }
    // A call inherits the value from its caller, because events may be nested arbitrarily deep.
    in_operator_[i] =
        !open.empty() && (in_operator_[open.back()] || is_operator(*nodes_[open.back()].event, name(open.back())));
    open.push_back(i);
  }
  for (const std::size_t node : open) nodes_[node].end = nodes_.size();
}

/// Finds the CPU event that launched each kernel: the launch with the kernel's correlation number.
/// A launch may be outside of any operator, for example because the trace has an unknown id for its
/// thread. The operator that the kernel names is then used.
void TraceSteps::place_kernels() {
  std::unordered_map<std::int64_t, std::size_t> launches, operators;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const TraceEvent& event = *nodes_[i].event;
    if (event.kind == TraceEvent::Kind::launch && event.correlation >= 0) launches.emplace(event.correlation, i);
    if (event.kind == TraceEvent::Kind::operation && event.external >= 0) operators.emplace(event.external, i);
  }
  started_.resize(nodes_.size());
  std::vector<double> own(nodes_.size(), 0.0);
  for (const TraceEvent& event : trace_.events) {
    if (event.kind != TraceEvent::Kind::kernel) continue;
    of_device_ = true;
    const auto launch = launches.find(event.correlation);
    const auto caller = operators.find(event.external);
    const bool launched = launch != launches.end();
    if (!launched && caller == operators.end()) continue;
    const bool by_number = caller != operators.end() && !(launched && in_operator_[launch->second]);
    const std::size_t node = by_number ? caller->second : launch->second;
    if (event.of_host) {
      copies_.emplace_back(node, event.seconds);
      continue;
    }
    started_[node].push_back(&event);
    own[node] += event.seconds;
  }
  before_.assign(nodes_.size() + 1, 0.0);
  std::partial_sum(own.begin(), own.end(), before_.begin() + 1);
}

void TraceSteps::find_steps() {
  double first = 0, last = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const TraceEvent& event = *nodes_[i].event;
    first = i == 0 ? event.start : std::min(first, event.start);
    last = i == 0 ? event.start + event.seconds : std::max(last, event.start + event.seconds);
    if (name(i).starts_with(step_mark)) spans_.emplace_back(event.start, event.start + event.seconds);
  }
  marked_ = !spans_.empty();
  if (!marked_ && !nodes_.empty()) spans_.emplace_back(first, last);
  std::sort(spans_.begin(), spans_.end());
  // A process runs one step at a time. Simultaneous steps in one file (merged ranks) cannot be distinguished.
  spans_.erase(std::unique(spans_.begin(), spans_.end(), [](const auto& a, const auto& b) { return b.first < a.second; }),
               spans_.end());
  const auto most = static_cast<std::size_t>(SamplingRule{}.most);
  if (spans_.size() > most) {
    left_out_ = spans_.size() - most;
    spans_.resize(most);
  }
  for (const auto& [begin, end] : spans_) steps_.push_back({.seconds = end - begin, .busy = of_device_ ? 0 : end - begin});
}

void TraceSteps::sort_into_steps() {
  const auto step_at = [this](double start) -> Step* {
    auto next = std::upper_bound(spans_.begin(), spans_.end(), start,
                                 [](double time, const auto& span) { return time < span.first; });
    if (next == spans_.begin()) return nullptr;
    --next;
    return start <= next->second ? &steps_[static_cast<std::size_t>(next - spans_.begin())] : nullptr;
  };
  if (of_device_) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (started_[i].empty()) continue;
      if (Step* step = step_at(nodes_[i].event->start)) step->busy += before_[i + 1] - before_[i];
    }
    for (const auto& [node, seconds] : copies_) {
      Step* const step = step_at(nodes_[node].event->start);
      if (step == nullptr) continue;
      step->busy += seconds;
      step->copies += seconds;
    }
  }
  std::map<int, std::vector<std::size_t>> forward;  // by thread
  for (std::size_t i = 0; i < nodes_.size();) {
    const TraceEvent& event = *nodes_[i].event;
    const std::string_view called = name(i);
    Step* const step = step_at(event.start);
    if (step == nullptr) {
      // Continues inside a region, because a region may contain all steps. Skips the calls of an operator.
      i = is_operator(event, called) ? nodes_[i].end : i + 1;
    } else if (called.starts_with(optimizer_step) || is_of_scaler(called)) {
      step->optimizer.push_back(i);
      i = nodes_[i].end;
    } else if (called.starts_with(optimizer_zero)) {
      step->others.push_back(i);
      i = nodes_[i].end;
    } else if (is_backward_node(called)) {
      step->backward.push_back(i);
      i = nodes_[i].end;
    } else if (is_operator(event, called)) {
      forward[event.thread].push_back(i);
      i = nodes_[i].end;
    } else {
      ++i;
    }
  }
  if (forward.empty()) return;
  const auto most = std::max_element(forward.begin(), forward.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  for (const std::size_t node : most->second) step_at(nodes_[node].event->start)->forward.push_back(node);
}

const OperatorShapes& TraceSteps::shapes(std::size_t node) const {
  static const OperatorShapes none;
  const int shapes = nodes_[node].event->shapes;
  return shapes < 0 ? none : trace_.shapes[static_cast<std::size_t>(shapes)];
}

double TraceSteps::seconds(std::size_t node) const {
  return of_device_ ? before_[nodes_[node].end] - before_[node] : nodes_[node].event->seconds;
}

std::vector<std::pair<std::string_view, double>> TraceSteps::kernels(std::size_t node) const {
  std::vector<std::pair<std::string_view, double>> found;
  for (std::size_t i = node; i < nodes_[node].end; ++i) {
    for (const TraceEvent* kernel : started_[i]) found.emplace_back(name_of(*kernel), kernel->seconds);
  }
  return found;
}

}  // namespace ddl
