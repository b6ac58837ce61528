#include "calibration/inputs/split_scaling.hpp"

#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "estimator/kernels/shard_problems.hpp"
#include "estimator/strategies/spatial.hpp"
#include "profiler/measurement/sequence.hpp"

namespace ddl {
namespace {

constexpr int widest_split = 64;

using LayerMedians = std::unordered_map<std::string, Seconds>;

/// The work of a rank for one layer: its problems as profile lines, and their total time; unset if a problem was not
/// measured.
struct MedianOfLayer {
  std::string lines;
  std::optional<Seconds> time = Seconds{};
};

std::vector<MedianOfLayer> layer_times(const ModelFacts& facts, const Plan& plan, const LayerMedians& medians) {
  const Assumptions assumptions;
  const Software software;
  std::vector<MedianOfLayer> times(facts.model->layers.size());
  LayerShard shard;
  ShardContext context{facts, plan, assumptions, 0, replicated_layers(facts, plan, software)};
  for (; context.index() < times.size(); ++context.layer) {
    MedianOfLayer& layer = times[context.index()];
    shard_layer(context, shard);
    for (const ShardProblem& each : shard_problems(context, shard)) {
      const std::string line = print_problem(each.problem);
      layer.lines += line + "\n";
      const auto known = medians.find(line);
      if (known == medians.end()) {
        layer.time.reset();
      } else if (layer.time) {
        *layer.time += known->second * static_cast<double>(each.times);
      }
    }
  }
  return times;
}

}  // namespace

std::vector<SplitScaling> split_scalings(const Profile& measured, const Model& model) {
  LayerMedians medians;
  std::set<std::pair<std::int64_t, Precision>> batches;
  const Profile profile = at_full_speed(measured);
  for (const ProfileRow& row : profile.rows) {
    const std::string& line = row.measurement.problem;
    if (!row.measurement.reason.empty() || is_sequence_problem(line) || is_update_problem(line) ||
        is_fresh_memory_problem(line))
      continue;
    medians.emplace(line, row.measurement.samples.median);
    const Problem problem = parse_problem(line, "the profile");
    batches.emplace(problem.samples, problem.precision);
  }
  const ModelFacts facts = facts_of(model);
  std::vector<SplitScaling> found;
  for (const auto& [samples, precision] : batches) {
    Plan plan;
    plan.global_batch = samples;
    plan.precision = precision;
    const std::vector<MedianOfLayer> whole = layer_times(facts, plan, medians);
    const auto compare = [&](std::string_view axis, const std::string& degree, int parts, const Plan& divided) {
      if (!limits_of({facts, divided, {}}).empty()) return;
      SplitScaling scaling{std::string(axis), degree, parts, samples, 0, {}, {}};
      const std::vector<MedianOfLayer> split = layer_times(facts, divided, medians);
      for (std::size_t i = 0; i < split.size(); ++i) {
        if (split[i].lines == whole[i].lines) continue;
        if (!split[i].time || !whole[i].time) return;
        ++scaling.layers;
        scaling.whole += *whole[i].time;
        scaling.split += *split[i].time;
      }
      if (scaling.whole.value() > 0) found.push_back(std::move(scaling));
    };
    for (const Axis axis : spoken_axes) {
      if (!row_of(axis).divides_weights) continue;
      for (int parts = 2; parts <= widest_split; parts *= 2) {
        Plan divided = plan;
        divided.mesh.set(axis, parts);
        compare(to_string(axis), std::to_string(parts), parts, divided);
      }
    }
    for (int parts = 2; parts <= widest_split; parts *= 2) {
      for (const std::array<int, 3>& tiles : tilings(facts, parts)) {
        Plan divided = plan;
        divided.mesh.set_tiles(tiles);
        std::string text = std::to_string(tiles[0]);
        for (std::size_t d = 1; d < static_cast<std::size_t>(model.input.rank); ++d) text += fmt::format("x{}", tiles[d]);
        compare("spatial", text, parts, divided);
      }
    }
  }
  return found;
}

}  // namespace ddl
