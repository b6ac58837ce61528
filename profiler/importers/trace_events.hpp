#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ddl {

/// Maximum size of a trace.
inline constexpr std::size_t max_trace_bytes = std::size_t{512} << 20U;

/// The shapes of an operator's arguments: for each argument, the dimensions of its tensors. Usually an argument is one
/// tensor. A number has no tensor, and a list of tensors has several.
using OperatorShapes = std::vector<std::vector<std::vector<std::int64_t>>>;

/// An event with a duration in a trace that PyTorch's profiler (Kineto) wrote.
struct TraceEvent {
  enum class Kind {
    operation,   ///< an operation on the CPU, including autograd nodes
    annotation,  ///< a named region
    launch,      ///< a call of the driver
    kernel,      ///< a kernel or a copy on the device
  };
  enum class Items { unknown, fp32, bf16, fp16 };
  Kind kind = Kind::operation;
  bool of_host = false;           ///< for a kernel: whether it is a copy between host and device
  Items items = Items::unknown;   ///< number format of the first tensor's elements
  int name = 0;                   ///< index in Trace::names
  int shapes = -1;                ///< index in Trace::shapes; -1 if the trace has none
  int thread = 0;                 ///< numbered from 0
  double start = 0, seconds = 0;  ///< start, in seconds from an arbitrary origin
  std::int64_t sequence = -1;     ///< autograd sequence number: the same for a forward operator and its backward node
  std::int64_t external = -1;     ///< id of the operator; for a kernel: id of the operator that launched it
  std::int64_t correlation = -1;  ///< number that a launch shares with its kernel
};

struct Trace {
  std::vector<std::string> names;
  std::vector<OperatorShapes> shapes;
  std::vector<TraceEvent> events;
  std::string device;  ///< name of the first device; empty for a CPU trace
};

/// Parses a Chrome trace written by PyTorch: an object with `traceEvents`, or a list of events. Only complete events (`"ph":
/// "X"`) of the kinds in TraceEvent are kept. Throws Error with a position in the file for invalid JSON, a file that is not
/// a trace, an event without a time, a negative or absurd time, and invalid shapes.
[[nodiscard]] Trace parse_trace(std::string text, const std::string& origin);

}  // namespace ddl
