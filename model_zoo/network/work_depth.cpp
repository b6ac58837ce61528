#include "model_zoo/network/work_depth.hpp"

#include <algorithm>

#include "model_zoo/network/input_gradient.hpp"

namespace ddl {
namespace {

Work work_of(const Layer& layer, Pass pass) { return layer.operation->work(pass, layer.input_shapes, layer.output_shape); }

double depth_of(const Layer& layer, Pass pass, double samples) {
  return layer.operation->depth(pass, layer.input_shapes, layer.output_shape, samples);
}

/// Returns, for each layer, the step at which the layer's forward pass ends.
std::vector<double> forward_ends(const Model& model, double samples) {
  std::vector<double> ends;
  ends.reserve(model.layers.size());
  for (const Layer& layer : model.layers) {
    double start = 0;
    for (const int input : layer.inputs) {
      if (input >= 0) start = std::max(start, ends[static_cast<std::size_t>(input)]);
    }
    ends.push_back(start + depth_of(layer, Pass::forward, samples));
  }
  return ends;
}

}  // namespace

WorkDepth forward_work_depth(const Model& model, double samples) {
  WorkDepth result{.work = model.flops_forward() * samples};
  for (const double end : forward_ends(model, samples)) result.depth = std::max(result.depth, end);
  return result;
}

WorkDepth training_work_depth(const Model& model, double samples) {
  WorkDepth result = forward_work_depth(model, samples);
  const std::vector<bool> needs_gradient = needs_input_gradient(model);
  // The gradient of a layer's output is complete when the backward passes of all its readers are done.
  std::vector<double> gradient_there = forward_ends(model, samples);
  for (std::size_t i = model.layers.size(); i-- > 0;) {
    const Layer& layer = model.layers[i];
    const double start = gradient_there[i];
    const Work weights = work_of(layer, Pass::backward_weight);
    if (weights.flops > 0) {
      result.work += weights.flops * samples;
      result.depth = std::max(result.depth, start + depth_of(layer, Pass::backward_weight, samples));
    }
    if (!needs_gradient[i]) continue;
    result.work += work_of(layer, Pass::backward_data).flops * samples;
    const double end = start + depth_of(layer, Pass::backward_data, samples);
    result.depth = std::max(result.depth, end);
    for (const int input : layer.inputs) {
      if (input < 0) continue;
      double& there = gradient_there[static_cast<std::size_t>(input)];
      there = std::max(there, end);
    }
  }
  return result;
}

GraphGrain graph_grain(const Model& model) {
  GraphGrain grain;
  double fewest = 0;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    const double flops = work_of(layer, Pass::forward).flops;
    if (flops > 0 && (grain.smallest_node < 0 || flops < fewest)) {
      grain.smallest_node = static_cast<int>(i);
      fewest = flops;
    }
    for (const int input : layer.inputs) {
      if (input < 0 || shape_of(model, input).items() <= most) continue;
      grain.largest_edge = input;
      most = shape_of(model, input).items();
    }
  }
  return grain;
}

}  // namespace ddl
