#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/report/formats/format.hpp"
#include "cli/report/steps.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/version.hpp"

namespace ddl {
namespace {

std::string json_text(std::string_view text) { return nlohmann::json(visible(text)).dump(); }

std::int64_t nanoseconds(Seconds time) { return std::llround(time.value() * 1e9); }

/// Formats a time in microseconds with fractions, the time unit of the trace format.
std::string microseconds(std::int64_t time) { return fmt::format("{}.{:03}", time / 1000, time % 1000); }

/// Appends the events of a trace, one per line.
class TraceWriter {
 public:
  void add(const NamedStep& step) {
    ++process_;
    const StepTimeline& timeline = step.timeline;
    name("process_name", 0, step.name);
    name("thread_name", 0, "all stages");
    order(0);
    for (int stage = 0; stage < timeline.stages; ++stage) {
      const std::string of = timeline.stages > 1 ? fmt::format("stage {} ", stage + 1) : std::string();
      for (const bool exchanges : {false, true}) {
        name("thread_name", row(stage, exchanges), of + (exchanges ? "exchanges" : "compute"));
        order(row(stage, exchanges));
      }
    }
    for (const StepSlice& slice : timeline.slices) add(slice, timeline);
  }

  [[nodiscard]] std::string events() && { return std::move(events_); }

 private:
  [[nodiscard]] static int row(int stage, bool exchanges) {
    return stage == every_stage ? 0 : 2 * stage + (exchanges ? 2 : 1);
  }

  void event(std::string_view text) {
    if (!events_.empty()) events_ += ",\n";
    events_ += text;
  }
  void name(std::string_view what, int thread, std::string_view name) {
    event(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":{}}}}})", process_, thread, what,
                      json_text(name)));
  }
  void order(int thread) {
    event(fmt::format(R"({{"ph":"M","pid":{0},"tid":{1},"name":"thread_sort_index","args":{{"sort_index":{1}}}}})", process_,
                      thread));
  }

  void add(const StepSlice& slice, const StepTimeline& timeline) {
    // Both ends are rounded, so that adjacent slices stay adjacent.
    const std::int64_t begin = nanoseconds(slice.begin), end = nanoseconds(slice.end);
    const std::string_view work = to_string(slice.work);
    const bool once = slice.stage == every_stage;
    std::string args;
    if (!once) {
      args = fmt::format(R"("stage":{},"micro_batch":{})", slice.stage + 1, slice.micro_batch + 1);
      if (timeline.chunks > 1) args += fmt::format(R"(,"chunk":{})", slice.chunk + 1);
    }
    event(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"cat":"{}","name":"{}","args":{{{}}}}})", process_,
                      row(slice.stage, is_exchange(slice.work)), microseconds(begin), microseconds(end - begin), work,
                      once ? std::string(work) : fmt::format("{} {}", work, slice.micro_batch + 1), args));
  }

  int process_ = 0;
  std::string events_;
};

}  // namespace

/// Prints steps as a trace that chrome://tracing and Perfetto open, in the object format [Duca and Sinclair, Trace Event
/// Format, 2016]. Each step is a process of the trace. Each stage has two rows in this process.
std::string trace_format(const Report& report, const Style& /*style*/) {
  const std::vector<NamedStep> steps = report.steps ? report.steps() : std::vector<NamedStep>();
  if (steps.empty()) {
    throw Error("there is no step to write as a trace",
                "ask for one model on one machine, with a plan that is possible; --format text shows the reason");
  }
  TraceWriter writer;
  std::string about;
  for (const NamedStep& step : steps) {
    writer.add(step);
    about += fmt::format(R"({}{{"name":{},"iteration_us":{},"pace":{}}})", about.empty() ? "" : ",", json_text(step.name),
                         microseconds(nanoseconds(step.timeline.step_time)), nlohmann::json(step.timeline.pace).dump());
  }
  return fmt::format(
      "{{\"displayTimeUnit\":\"ms\",\n\"otherData\":{{\"program\":\"ddl-oracle {}\",\"commit\":\"{}\",\"command\":{},"
      "\"steps\":[{}]}},\n\"traceEvents\":[\n{}\n]}}\n",
      version(), commit(), json_text(report.command), about, std::move(writer).events());
}

}  // namespace ddl
