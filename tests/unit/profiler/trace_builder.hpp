#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace ddl {

/// Writes a trace as Kineto does, event by event. Times are in microseconds.
class TraceBuilder {
 public:
  /// `shapes` is JSON, such as `[[2,3],[4,3],[]]`, or empty if the event has no shapes.
  TraceBuilder& operation(const std::string& name, double start, double duration, const std::string& shapes = {},
                          std::int64_t sequence = -1, int thread = 1) {
    std::string arguments = fmt::format(R"("External id":{})", ++count_);
    if (!shapes.empty()) arguments += fmt::format(R"(,"Input Dims":{})", shapes);
    if (sequence >= 0) arguments += fmt::format(R"(,"Sequence number":{})", sequence);
    return event("cpu_op", name, start, duration, arguments, thread);
  }
  TraceBuilder& backward(const std::string& node, double start, double duration, std::int64_t sequence, int thread = 1) {
    return operation("autograd::engine::evaluate_function: " + node, start, duration, {}, sequence, thread);
  }
  TraceBuilder& region(const std::string& name, double start, double duration) {
    return event("user_annotation", name, start, duration, {}, 1);
  }
  /// Adds a launch at `launched` on `thread`, and its kernel.
  TraceBuilder& kernel(const std::string& name, double launched, double duration, int thread = 1) {
    const std::string arguments = fmt::format(R"("correlation":{})", ++count_);
    event("cuda_runtime", "cudaLaunchKernel", launched, 0.1, arguments, thread);
    return event("kernel", name, launched + 100000, duration, arguments, 77);
  }
  /// A launch at `launched`, and its copy.
  TraceBuilder& copy(const std::string& name, double launched, double duration) {
    const std::string arguments = fmt::format(R"("correlation":{})", ++count_);
    event("cuda_runtime", "cudaMemcpyAsync", launched, 0.1, arguments, 1);
    return event("gpu_memcpy", name, launched + 100000, duration, arguments, 77);
  }
  /// Adds a kernel whose launch is on a thread without an operator, for example a system thread id
  /// that Kineto does not record. The kernel states the number of its operator, counted from 1
  /// among all events of this builder that have a number.
  TraceBuilder& kernel_by_number(const std::string& name, double launched, double duration, int external) {
    const int correlation = ++count_;
    event("cuda_runtime", "cudaLaunchKernel", launched, 0.1, fmt::format(R"("correlation":{})", correlation), 99);
    return event("kernel", name, launched + 100000, duration,
                 fmt::format(R"("External id":{},"correlation":{})", external, correlation), 77);
  }
  /// Returns the number of the last event that has one.
  [[nodiscard]] int last_number() const { return count_; }
  [[nodiscard]] std::string text(const std::string& head = {}) const {
    return fmt::format("{{{}\"traceEvents\":[{}]}}", head, events_);
  }

 private:
  TraceBuilder& event(const std::string& category, const std::string& name, double start, double duration,
                      const std::string& arguments, int thread) {
    events_ += fmt::format(
        "{}\n{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":\"{}\",\"pid\":1,\"tid\":{},\"ts\":{},\"dur\":{},\"args\":{{{}}}}}",
        events_.empty() ? "" : ",", category, name, thread, start, duration, arguments);
    return *this;
  }

  std::string events_;
  int count_ = 0;
};

}  // namespace ddl
