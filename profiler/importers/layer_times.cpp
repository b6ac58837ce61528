#include "profiler/importers/layer_times.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "model_zoo/operations/shape_rules.hpp"
#include "profiler/measurement/problems.hpp"

namespace ddl {
namespace {

/// Collects the rows of a profile: problems in the order of the layers, with their measured times.
class Rows {
 public:
  /// Adds the times of a layer that runs the problem `often` times.
  void add(const std::string& line, const PassTimes& times, int often = 1) {
    if (line.empty()) return;
    const auto [place, is_new] = places_.emplace(line, rows_.size());
    if (is_new) rows_.push_back({line, 0, {}});
    Row& row = rows_[place->second];
    row.layers += often;
    if (!times.seconds.empty()) row.times.insert(row.times.end(), static_cast<std::size_t>(often), times);
  }

  void write(ProfileImport& into) const {
    for (const Row& row : rows_) {
      if (row.times.empty()) {
        into.missing.push_back(row.line);
        continue;
      }
      ProfileRow written;
      written.layers = row.layers;
      written.measurement.problem = row.line;
      written.measurement.samples = summarize(mean_of(row.times), SamplingRule{});
      written.measurement.algorithm = row.times.front().algorithm;
      into.profile.rows.push_back(std::move(written));
    }
  }

 private:
  struct Row {
    std::string line;
    int layers = 0;
    std::vector<PassTimes> times;
  };

  /// Computes the mean time over layers. If all layers have the same number of steps, returns the
  /// mean for each step. Otherwise returns the mean of the layers' medians.
  static std::vector<double> mean_of(const std::vector<PassTimes>& times) {
    const std::size_t steps = times.front().seconds.size();
    const auto as_many = [steps](const PassTimes& each) { return each.seconds.size() == steps; };
    std::vector<double> means;
    if (!std::all_of(times.begin(), times.end(), as_many)) {
      std::vector<double> medians;
      for (const PassTimes& each : times) medians.push_back(median(each.seconds));
      return {mean(medians)};
    }
    for (std::size_t step = 0; step < steps; ++step) {
      double sum = 0;
      for (const PassTimes& each : times) sum += each.seconds[step];
      means.push_back(sum / static_cast<double>(times.size()));
    }
    return means;
  }

  std::unordered_map<std::string, std::size_t> places_;
  std::vector<Row> rows_;
};

/// The fraction of a backward pass's time that the input's gradient takes, if the pass also
/// computes gradients of weights. `by`: what this fraction is based on.
struct DataShare {
  double share = 0.5;
  std::string_view by;
};
DataShare share_of_data(const Layer& layer) {
  const Work data = layer.operation->work(Pass::backward_data, layer.input_shapes, layer.output_shape);
  const Work weight = layer.operation->work(Pass::backward_weight, layer.input_shapes, layer.output_shape);
  if (data.flops + weight.flops > 0) return {data.flops / (data.flops + weight.flops), "FLOPs"};
  const double both = data.activation_items + weight.activation_items;
  return {both > 0 ? data.activation_items / both : 0.5, "memory traffic"};
}

PassTimes part_of(const PassTimes& whole, double share, std::string_view by) {
  PassTimes part = whole;
  for (double& time : part.seconds) time *= share;
  part.algorithm =
      fmt::format("{:.0f} % of {} by {}", 100 * share, whole.algorithm.empty() ? "backward" : whole.algorithm, by);
  return part;
}

}  // namespace

void add_rows(ProfileImport& into, const Model& model, const std::vector<ImportedLayer>& times, Optimizer optimizer) {
  const std::vector<LayerProblems> problems = layer_problems(model, into.samples, into.precision, optimizer);
  Rows rows;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const ImportedLayer& timed = times[i];
    const LayerProblems& lines = problems[i];
    rows.add(lines.forward, timed.forward);
    const bool both = !lines.backward_data.empty() && !lines.backward_weight.empty();
    if (timed.backward.seconds.empty()) {
      rows.add(lines.backward_data, timed.backward_data);
      rows.add(lines.backward_weight, timed.backward_weight);
    } else {
      const DataShare data = share_of_data(model.layers[i]);
      const PassTimes first = both ? part_of(timed.backward, data.share, data.by) : timed.backward;
      const PassTimes second = both ? part_of(timed.backward, 1 - data.share, data.by) : timed.backward;
      rows.add(lines.backward_data, first);
      rows.add(lines.backward_weight, second);
    }
    rows.add(lines.addition, timed.addition, lines.additions);
    rows.add(lines.table_addition, timed.table_addition);
    rows.add(lines.update, timed.update);
  }
  rows.write(into);
}

void check_samples(const Model& model, std::int64_t samples) {
  static_cast<void>(item_count("the input", {model.input.items(), samples}));
  for (const Layer& layer : model.layers) {
    static_cast<void>(item_count(fmt::format("the output of '{}'", layer.name), {layer.output_shape.items(), samples}));
  }
}

}  // namespace ddl
