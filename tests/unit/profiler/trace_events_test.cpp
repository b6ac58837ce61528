#include "profiler/importers/trace_events.hpp"

#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/profiler/trace_builder.hpp"

using namespace ddl;

namespace {

const std::string trace_hint_line =
    "\nhint: a trace is written by torch.profiler: profiler.export_chrome_trace(\"trace.json\")";

std::string trace_error(const std::string& text) {
  return error_of([&] { static_cast<void>(parse_trace(text, "t.json")); });
}
/// Returns the message without the line and the caret.
std::string first_line(const std::string& text) { return trace_error(text).substr(0, trace_error(text).find('\n')); }
std::string event(const std::string& inside) {
  return R"({"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a",)" + inside + "}]}";
}

}  // namespace

TEST_CASE("events are read with their attributes") {
  const Trace trace = parse_trace(TraceBuilder()
                                      .operation("aten::mm", 1000, 2.5, "[[2,3],[3,4],[]]", 7)
                                      .operation("aten::mm", 1010, 1, "[[2,3],[3,4],[]]")
                                      .operation("aten::cat", 1020, 1, "[[[2,3],[2,5]],[]]", -1, 2)
                                      .region("ProfilerStep#1", 990, 100)
                                      .kernel("sgemm", 1001, 4)
                                      .text(R"("schemaVersion":1,"deviceProperties":[{"id":0,"name":"GPU"},{"name":"x"}],)"),
                                  "t.json");
  REQUIRE(trace.events.size() == 6);
  CHECK(trace.device == "GPU");
  const TraceEvent& first = trace.events[0];
  CHECK(first.kind == TraceEvent::Kind::operation);
  CHECK(trace.names[static_cast<std::size_t>(first.name)] == "aten::mm");
  CHECK(first.start == Approx(1000e-6));
  CHECK(first.seconds == Approx(2.5e-6));
  CHECK(first.sequence == 7);
  CHECK(trace.shapes[static_cast<std::size_t>(first.shapes)] == OperatorShapes{{{2, 3}}, {{3, 4}}, {{}}});
  CHECK(trace.events[1].shapes == first.shapes);
  CHECK(trace.shapes[static_cast<std::size_t>(trace.events[2].shapes)] == OperatorShapes{{{2, 3}, {2, 5}}, {{}}});
  CHECK(trace.events[2].thread != first.thread);
  CHECK(trace.events[3].kind == TraceEvent::Kind::annotation);
  CHECK(trace.events[4].kind == TraceEvent::Kind::launch);
  CHECK(trace.events[5].kind == TraceEvent::Kind::kernel);
  CHECK(trace.events[5].correlation == trace.events[4].correlation);
}

TEST_CASE("a list of events is a trace, and other events and content are ignored") {
  CHECK(parse_trace("[]", "t.json").events.empty());
  CHECK(parse_trace(R"({"traceEvents":[{"ph":"s","id":1},{"ph":"X","cat":"python_function","name":"f"},
                       {"ph":"M","name":"process_name","args":{"name":"python","Input Dims":"no"}}],"x":[{"y":[[1]]}]})",
                    "t.json")
            .events.empty());
}

TEST_CASE("a file that is not a trace is refused with a position") {
  CHECK(trace_error("") == "t.json:1:1: the file is empty" + trace_hint_line);
  CHECK(first_line("{\"traceEvents\":[{") == "t.json:1:18: not valid JSON");
  CHECK(first_line("{}") == "t.json:1:1: this is not a trace: it has no list 'traceEvents'");
  CHECK(first_line("3") == "t.json:1:1: this is not a trace: it has no list 'traceEvents'");
  CHECK(first_line("{\"traceEvents\":[],\n\"traceEvents\":[]}") == "t.json:2:15: duplicate list 'traceEvents'");
  CHECK(first_line(event(R"("ts":1)")) == "t.json:1:17: an event without 'ts' and 'dur'");
  CHECK(first_line(event(R"("ts":"1","dur":2)")) == "t.json:1:17: 'ts' of this event is not a number");
  CHECK(first_line(event(R"("ts":1,"dur":-2)")) == "t.json:1:17: 'dur' of this event is not a duration");
  CHECK(first_line(event(R"("ts":1e300,"dur":2)")) == "t.json:1:17: 'ts' of this event is not a time");
  CHECK(first_line(event(R"("ts":1e999,"dur":2)")).find("a number that is too large") != std::string::npos);
  const auto shapes = [](const std::string& text) {
    return first_line(event(R"("ts":1,"dur":2,"args":{"Input Dims":)" + text + "}"));
  };
  CHECK(shapes("[[2,-3]]") == "t.json:1:17: a value in 'Input Dims' of this event is not a size");
  CHECK(shapes("[[2,0.5]]") == "t.json:1:17: a value in 'Input Dims' of this event is not a size");
  CHECK(shapes("[3]") == "t.json:1:17: 'Input Dims' of this event mix sizes and lists");
  CHECK(shapes("[[[3],4]]") == "t.json:1:17: 'Input Dims' of this event mix sizes and lists");
  CHECK(shapes("[[3,[4]]]") == "t.json:1:17: 'Input Dims' of this event mix sizes and lists");
  CHECK(shapes("[[[[3]]]]") == "t.json:1:17: 'Input Dims' of this event are nested deeper than lists of tensors");
  CHECK(shapes("[{}]") == "t.json:1:17: 'Input Dims' of this event are not lists of sizes");
  CHECK(shapes("[\"2\"]") == "t.json:1:17: 'Input Dims' of this event are not lists of sizes");
  std::string deep(100, '[');
  CHECK(first_line(deep) == "t.json:1:65: nested deeper than 64 levels");
}
