#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/documents/charts.hpp"
#include "cli/report/figures.hpp"
#include "core/enum_array.hpp"
#include "core/units.hpp"
#include "estimator/schedules/schedule.hpp"

namespace ddl {
namespace {

/// The color of each StepWork: the color of the part of the step that contains this work.
constexpr EnumArray<StepWork, Tone> work_tones{Tone::sky,    Tone::blue,  Tone::yellow,    Tone::dark, Tone::orange,
                                               Tone::purple, Tone::brown, Tone::vermilion, Tone::green};
/// Bubbles that are shorter than this share of a step are not drawn.
constexpr double shortest_bubble = 0.0005;

std::string pass_name(const StepSlice& slice, const StepTimeline& timeline, const Plan& plan) {
  const bool both_ways = order_of(plan.schedule).course == Course::both_ways && timeline.stages > 1;
  const std::string chunk = timeline.chunks == 1 ? std::string()
                            : both_ways          ? fmt::format(", {} direction", slice.chunk == 0 ? "first" : "other")
                                                 : fmt::format(", chunk {}", slice.chunk + 1);
  return fmt::format("{} of micro-batch {}{}", to_string(slice.work), slice.micro_batch + 1, chunk);
}

/// Collects the slices of all lanes: for each stage, a lane of the device and a lane of the network.
class LanesOfStep {
 public:
  LanesOfStep(const StepTimeline& timeline, const Plan& plan) : timeline_(timeline), plan_(plan) {
    const TimeUnit unit = time_unit(timeline.step_time);
    lanes_.unit = unit.name;
    lanes_.factor = unit.factor;
    lanes_.length = timeline.step_time.value();
    for (int stage = 0; stage < timeline.stages; ++stage) {
      lanes_.lanes.push_back({timeline.stages > 1 ? fmt::format("stage {}", stage + 1) : std::string("compute"), {}});
      lanes_.lanes.push_back({"network", {}, true});
    }
  }

  void add(const StepSlice& slice) {
    const bool once = slice.stage == every_stage;
    const std::string name = once ? std::string(to_string(slice.work)) : pass_name(slice, timeline_, plan_);
    LaneSlice drawn = slice_of(slice, kind_of(std::string(to_string(slice.work)), work_tones[slice.work]));
    drawn.text = fmt::format("{}: {}", name, humanize(slice.end - slice.begin));
    const bool is_pass = !once && !is_exchange(slice.work) && slice.work != StepWork::waiting;
    if (is_pass) drawn.label = std::to_string(slice.micro_batch + 1);
    for (int stage = 0; stage < timeline_.stages; ++stage) {
      if (once || stage == slice.stage) lane_of(stage, is_exchange(slice.work)).push_back(drawn);
    }
  }

  void add_hidden(const StepSlice& slice) {
    LaneSlice drawn = slice_of(slice, kind_of("communication hidden behind compute", Tone::pale));
    drawn.text = fmt::format("{} of micro-batch {}, hidden behind compute: {}", to_string(slice.work), slice.micro_batch + 1,
                             humanize(slice.end - slice.begin));
    lane_of(slice.stage, true).push_back(std::move(drawn));
  }

  /// Fills the gaps of the devices in which they neither compute, nor wait for the host, nor communicate: the bubble.
  void add_bubbles() {
    if (timeline_.stages == 1) return;
    for (int stage = 0; stage < timeline_.stages; ++stage) {
      std::vector<std::pair<double, double>> busy;
      for (const bool network : {false, true}) {
        for (const LaneSlice& each : lane_of(stage, network)) busy.emplace_back(each.begin, each.end);
      }
      std::ranges::sort(busy);
      busy.emplace_back(lanes_.length, lanes_.length);
      double free = 0;
      for (const auto& [begin, end] : busy) {
        if (begin - free > shortest_bubble * lanes_.length) {
          LaneSlice bubble{free, begin, kind_of("bubble", Tone::grey)};
          bubble.text = "bubble: " + humanize(Seconds(begin - free));
          lane_of(stage, false).push_back(std::move(bubble));
        }
        free = std::max(free, end);
      }
    }
  }

  [[nodiscard]] Lanes take() && { return std::move(lanes_); }

 private:
  [[nodiscard]] std::vector<LaneSlice>& lane_of(int stage, bool network) {
    return lanes_.lanes[2 * static_cast<std::size_t>(stage) + (network ? 1 : 0)].slices;
  }
  [[nodiscard]] static LaneSlice slice_of(const StepSlice& slice, std::size_t kind) {
    return {slice.begin.value(), slice.end.value(), kind};
  }
  std::size_t kind_of(const std::string& name, Tone tone) {
    const auto [known, is_new] = kinds_.try_emplace(name, lanes_.kinds.size());
    if (is_new) lanes_.kinds.push_back({name, tone});
    return known->second;
  }

  const StepTimeline& timeline_;
  const Plan& plan_;
  Lanes lanes_;
  std::map<std::string, std::size_t> kinds_;
};

}  // namespace

Chart step_lanes(const StepTimeline& timeline, const Plan& plan) {
  LanesOfStep lanes(timeline, plan);
  for (const StepSlice& slice : timeline.slices) lanes.add(slice);
  lanes.add_bubbles();
  for (const StepSlice& slice : timeline.hidden) lanes.add_hidden(slice);
  return {
      "Timeline of a step",
      fmt::format("{}, {}, over {}", count_text(timeline.stages, "stage"),
                  timeline.micro_batches == 1 ? "1 micro-batch" : with_thousands(timeline.micro_batches) + " micro-batches",
                  humanize(timeline.step_time)),
      std::move(lanes).take()};
}

}  // namespace ddl
