#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ddl {

/// Longest trace that is read.
inline constexpr std::size_t max_trace_bytes = std::size_t{512} << 20U;

/// What the tensors of an operator's arguments are like: for each argument, the dimensions of its tensors. One tensor is the
/// rule, a number has none, a list of tensors has several.
using OperatorShapes = std::vector<std::vector<std::vector<std::int64_t>>>;

/// Something that took time, of a trace that PyTorch's profiler (Kineto) wrote.
struct TraceEvent {
  enum class Kind {
    operation,   ///< on the processor, a node of autograd among them
    annotation,  ///< a region that somebody named
    launch,      ///< a call of the driver
    kernel,      ///< or copy, on the device
  };
  enum class Items { unknown, fp32, bf16, fp16 };
  Kind kind = Kind::operation;
  Items items = Items::unknown;   ///< of its first tensor
  int name = 0;                   ///< in Trace::names
  int shapes = -1;                ///< in Trace::shapes; -1 where the trace has none
  int thread = 0;                 ///< numbered from 0
  double start = 0, seconds = 0;  ///< start: in seconds from any point in time
  std::int64_t sequence = -1;     ///< of autograd: a forward operator's and its backward node's are the same
  std::int64_t external = -1;     ///< number of the operator; of a kernel, of the operator that started it
  std::int64_t correlation = -1;  ///< of a launch and its kernel
};

struct Trace {
  std::vector<std::string> names;
  std::vector<OperatorShapes> shapes;
  std::vector<TraceEvent> events;
  std::string device;  ///< name of the first device; empty for a trace of the processor
};

/// Reads a Chrome trace as PyTorch writes it: an object with `traceEvents`, or a list of events. Only complete events
/// (`"ph": "X"`) of the kinds above are kept. Errors are placed: no JSON, no trace, an event without a time, a negative or
/// absurd one, shapes that are none.
[[nodiscard]] Trace parse_trace(std::string text, const std::string& origin);

}  // namespace ddl
