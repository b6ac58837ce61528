#include "calibration/inputs/measured_models.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model_zoo/files/load_model.hpp"

namespace ddl {
namespace {

/// The name of a model without the parameters that it overrides: `resnet50` of `resnet50@trained=none`.
std::string_view base_name(std::string_view name) { return name.substr(0, name.find('@')); }

bool is_bundled(std::string_view name) {
  const std::vector<std::string> names = model_names();
  return std::find(names.begin(), names.end(), base_name(name)) != names.end();
}

double work_of(const Layer& layer, Pass pass) {
  return layer.operation->work(pass, layer.input_shapes, layer.output_shape).flops;
}

bool is_same_layer(const Layer& a, const Layer& b) {
  return a.operation->type() == b.operation->type() && a.inputs == b.inputs && a.output_shape == b.output_shape &&
         a.weights == b.weights && a.biases == b.biases && a.frozen == b.frozen && a.tied_to == b.tied_to &&
         work_of(a, Pass::forward) == work_of(b, Pass::forward);
}

/// Returns the standard deviation of the factor of a network around the mean of the other networks' factors.
/// `logarithms`: of the factors of all networks. 0 if there is only one network.
double left_out_spread(std::span<const double> logarithms) {
  const auto count = static_cast<double>(logarithms.size());
  if (count < 2) return 0;
  double mean = 0, squares = 0;
  for (const double each : logarithms) mean += each / count;
  // Without the network itself, the mean is further from the network by n/(n−1).
  for (const double each : logarithms) squares += std::pow((each - mean) * count / (count - 1), 2);
  return std::sqrt(squares / count);
}

}  // namespace

bool is_same_network(const Model& a, const Model& b) {
  return a.input == b.input && std::equal(a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(), is_same_layer);
}

Coefficients measured_as(Coefficients coefficients, const Model& model) {
  auto& limits = coefficients.software.spatial_layers;
  std::vector<std::string> names;
  for (const MeasuredModel& each : coefficients.models) names.push_back(each.model);
  for (const auto& [name, layers] : limits) names.push_back(name);
  if (std::find(names.begin(), names.end(), model.name) != names.end()) {
    // A sequence of another length does not make it another network.
    if (!is_bundled(model.name) || model.input.sequence) return coefficients;
    if (is_same_network(load_model(model.name), model)) return coefficients;
    std::erase_if(coefficients.models, [&](const MeasuredModel& each) { return each.model == model.name; });
    std::erase_if(limits, [&](const auto& each) { return each.first == model.name; });
  }
  for (const std::string& name : names) {
    if (name == model.name || !is_bundled(name) || !is_same_network(load_model(name), model)) continue;
    for (MeasuredModel& each : coefficients.models) {
      if (each.model == name) each.model = model.name;
    }
    for (auto& [limited, layers] : limits) {
      if (limited == name) limited = model.name;
    }
    break;
  }
  return coefficients;
}

std::optional<KernelScale> pooled_scale(const Machine& machine, const Coefficients& coefficients, Precision precision,
                                        const Model* like) {
  constexpr std::size_t enough = 3;  // fewer networks do not show how much networks differ
  std::vector<double> alike, all;
  for (const MeasuredModel& measured : coefficients.models) {
    if (measured.precision != precision || !is_bundled(measured.model)) continue;
    const Model model = load_model(measured.model);
    const std::optional<double> scale = measured_scale(facts_of(model), machine.device, coefficients, precision);
    if (!scale) continue;
    all.push_back(std::log(*scale));
    if (like != nullptr && (model.input.rank != like->input.rank || model.input.sequence != like->input.sequence)) continue;
    if (like != nullptr && base_name(measured.model) == base_name(like->name)) return KernelScale{*scale};
    alike.push_back(std::log(*scale));
  }
  if (alike.empty()) return std::nullopt;
  double mean = 0;
  for (const double each : alike) mean += each / static_cast<double>(alike.size());
  return KernelScale{std::exp(mean), left_out_spread(alike.size() < enough ? all : alike)};
}

}  // namespace ddl
