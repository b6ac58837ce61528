#include "profiler/importers/pytorch_trace.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/input_gradient.hpp"
#include "model_zoo/operations/shape_rules.hpp"
#include "profiler/importers/layer_times.hpp"
#include "profiler/importers/trace_events.hpp"
#include "profiler/importers/trace_operators.hpp"
#include "profiler/importers/trace_steps.hpp"

namespace ddl {
namespace {

using Layers = std::vector<std::size_t>;

/// The layers of a model by the signatures of their operators.
class LayerSignatures {
 public:
  LayerSignatures(const Model& model, std::int64_t samples) {
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      for (const std::string& signature : layer_signatures(model.layers[i], samples)) layers_[signature].push_back(i);
    }
  }
  /// Finds the layers with this signature; null if there are none.
  [[nodiscard]] const Layers* find(const std::string& signature) const {
    const auto found = layers_.find(signature);
    return found == layers_.end() ? nullptr : &found->second;
  }
  /// The first possible signature of an operator that is also the signature of a layer; empty if there is none.
  [[nodiscard]] std::optional<std::string> of_operator(std::string_view name, const OperatorShapes& shapes) const {
    for (std::string& signature : operator_signatures(name, shapes)) {
      if (layers_.contains(signature)) return std::move(signature);
    }
    return std::nullopt;
  }

 private:
  std::unordered_map<std::string, Layers> layers_;
};

constexpr std::size_t no_layer = static_cast<std::size_t>(-1);

/// An operator of the forward pass and its layer.
struct Claim {
  std::size_t node = 0;
  std::size_t layer = no_layer;
  std::string signature{};  ///< empty if the operator alone does not represent a layer
  bool again = false;       ///< whether an earlier operator of the same layer already has this signature
};

/// Seconds of the passes of one layer in one step.
struct LayerTimesOfStep {
  double forward = 0, data = 0, weight = 0, rest = 0;
};

std::string shapes_text(const OperatorShapes& shapes) {
  std::vector<std::string> texts;
  for (const auto& argument : shapes) {
    std::vector<std::string> tensors;
    for (const auto& tensor : argument) {
      if (!tensor.empty()) tensors.push_back(fmt::format("{}", fmt::join(tensor, ",")));
    }
    if (!tensors.empty()) texts.push_back(fmt::format("{}", fmt::join(tensors, "+")));
  }
  return fmt::format("{}", fmt::join(texts, " "));
}

/// Returns `AddmmBackward0` for `autograd::engine::evaluate_function: AddmmBackward0`.
std::string short_name(std::string_view name) {
  const std::size_t blank = is_backward_node(name) ? name.rfind(' ') : std::string_view::npos;
  return std::string(blank == std::string_view::npos ? name : name.substr(blank + 1));
}

class Matcher {
 public:
  /// `only_compares`: whether likeness() alone is computed.
  Matcher(const Model& model, std::int64_t samples, const TraceSteps& steps, bool only_compares = false)
      : model_(model),
        samples_(samples),
        steps_(steps),
        signatures_(model, samples),
        times_(steps.steps().size()),
        matched_(times_.size()) {
    if (only_compares) {
      std::vector<Claim> claims = claims_of(steps.steps().front());
      join_projections(claims);
      double rounds = 1;
      name_layers(claims, rounds);
      compare(claims, rounds);
      return;
    }
    for (const Layer& layer : model.layers) parameters_ += static_cast<double>(layer.parameters());
    const std::vector<int> additions = gradient_additions(model);
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      const Layer& layer = model.layers[i];
      if (additions[i] > 0) sums_[sum_signature(layer.output_shape, samples)].layers.push_back(i);
      if (layer.tied_to < 0) continue;
      const SharedTable table = layer.operation->shared_table(layer.input_shapes, layer.output_shape);
      sums_[sum_signature({.channels = table.columns}, table.rows)].tables.push_back(i);
    }
    for (auto& [signature, sums] : sums_) sums.times.resize(times_.size());
    for (std::size_t step = 0; step < times_.size(); ++step) match(step);
  }

  /// Returns the times of each layer, with one time per step.
  [[nodiscard]] std::vector<ImportedLayer> layer_times() const;
  /// The share of convolutions and products that the model and the first step have in common. The calls in the step are
  /// divided by the number of rounds. 1 if neither has any.
  [[nodiscard]] double likeness() const { return likeness_; }
  void report(ProfileImport& into) const;

 private:
  using Unmatched = std::map<std::pair<std::string, std::string>, std::pair<int, double>>;

  void match(std::size_t step);
  [[nodiscard]] std::vector<Claim> claims_of(const TraceSteps::Step& step) const;
  void join_projections(std::vector<Claim>& claims) const;
  void name_layers(std::vector<Claim>& claims, double& rounds) const;
  void compare(const std::vector<Claim>& claims, double rounds);
  void place_parts(std::vector<Claim>& claims) const;
  void add_forward(std::size_t step, const std::vector<Claim>& claims);
  void add_backward(std::size_t step, const std::vector<Claim>& claims);
  void add_update(std::size_t step);
  [[nodiscard]] double sums_of_gradients(std::size_t step, std::size_t node);
  void split_backward(std::size_t node, const Layer& layer, LayerTimesOfStep& into, double seconds) const;
  void leave(std::size_t node, double seconds);
  void name_algorithm(std::size_t layer, bool forward, std::size_t node, double seconds);

  const Model& model_;
  std::int64_t samples_ = 0;
  const TraceSteps& steps_;
  LayerSignatures signatures_;
  double parameters_ = 0;
  double likeness_ = 1;
  /// The sums of gradients with one shape. `layers`, `tables`: the layers with outputs, or tables,
  /// of this shape. `times`: the calls and the seconds of these sums in each step.
  struct Sums {
    Layers layers{}, tables{};
    std::vector<std::pair<int, double>> times{};
  };
  std::unordered_map<std::string, Sums> sums_;
  std::vector<std::unordered_map<std::size_t, LayerTimesOfStep>> times_;  ///< times by step and layer
  std::vector<double> update_;                                            ///< update times by step
  std::string optimizer_;
  std::vector<double> matched_;
  Unmatched unmatched_;
  /// The operators of one layer in one direction: the name and time of the longest operator, and all names.
  struct Algorithm {
    std::string name;
    double seconds = 0;
    std::set<std::string> all;
  };
  std::unordered_map<std::size_t, Algorithm> forward_algorithms_, backward_algorithms_;
};

/// Returns the operators of the forward pass in their order. An operator gets the signature of a
/// layer if one of its possible signatures matches one.
std::vector<Claim> Matcher::claims_of(const TraceSteps::Step& step) const {
  std::vector<Claim> claims;
  claims.reserve(step.forward.size());
  for (const std::size_t node : step.forward) {
    Claim claim{.node = node};
    claim.signature = signatures_.of_operator(steps_.name(node), steps_.shapes(node)).value_or("");
    claims.push_back(std::move(claim));
  }
  return claims;
}

/// Joins products that compute queries, keys and values. They may be three products (or two, in cross-attention) in the
/// trace, but one layer in the model. Products are joined if they have the same input, if only views are between them, and
/// if their features add up to those of a layer without an operator.
void Matcher::join_projections(std::vector<Claim>& claims) const {
  std::set<std::string> present;
  for (const Claim& claim : claims) present.insert(claim.signature);
  std::vector<std::pair<std::size_t, LinearShape>> run;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const std::string_view name = steps_.name(claims[i].node);
    const LinearShape linear = linear_shape(name, steps_.shapes(claims[i].node));
    if (linear.in == 0) {
      if (!is_view(name)) run.clear();
      continue;
    }
    if (!run.empty() && (run.front().second.rows != linear.rows || run.front().second.in != linear.in)) run.clear();
    run.emplace_back(i, linear);
    if (run.size() > 3) run.erase(run.begin());
    for (std::size_t count = run.size(); count > 1; --count) {
      const std::size_t first = run.size() - count;
      LinearShape together = linear;
      for (std::size_t k = first; k + 1 < run.size(); ++k) together.out += run[k].second.out;
      const std::string signature = linear_signature(together);
      if (signatures_.find(signature) == nullptr || present.contains(signature)) continue;
      for (std::size_t k = first; k < run.size(); ++k) {
        Claim& claim = claims[run[k].first];
        claim.signature = signature;
        claim.again = k > first;
      }
      run.clear();
      break;
    }
  }
}

/// Assigns the first operator with a signature to the first layer with this signature, and so on. A step may run through the
/// model several times (`rounds`).
void Matcher::name_layers(std::vector<Claim>& claims, double& rounds) const {
  std::unordered_map<std::string, std::size_t> calls;
  for (const Claim& claim : claims) calls[claim.signature] += claim.signature.empty() || claim.again ? 0U : 1U;
  std::vector<double> ratios;
  for (const auto& [signature, count] : calls) {
    if (const Layers* layers = signatures_.find(signature)) {
      ratios.insert(ratios.end(), layers->size(), static_cast<double>(count) / static_cast<double>(layers->size()));
    }
  }
  rounds = std::max(1.0, std::round(median(ratios)));
  // For a single sample, adding a table of positions may have the same signature as a sum of two branches. If the step has
  // only as many sums as there are branches, all sums are assigned to branches.
  std::unordered_map<std::string, Layers> of_branches;
  for (const auto& [signature, count] : calls) {
    const Layers* layers = signatures_.find(signature);
    if (layers == nullptr || static_cast<double>(count) >= rounds * static_cast<double>(layers->size())) continue;
    const auto is_branch = [this](std::size_t layer) { return model_.layers[layer].operation->type() == "add"; };
    Layers branches;
    std::copy_if(layers->begin(), layers->end(), std::back_inserter(branches), is_branch);
    if (!branches.empty()) of_branches.emplace(signature, std::move(branches));
  }
  std::unordered_map<std::string, std::size_t> seen;
  for (Claim& claim : claims) {
    const auto branches = of_branches.find(claim.signature);
    const Layers* layers = branches == of_branches.end() ? signatures_.find(claim.signature) : &branches->second;
    if (layers == nullptr) continue;
    std::size_t& number = seen[claim.signature];
    if (claim.again) --number;
    claim.layer = (*layers)[number % layers->size()];
    ++number;
  }
}

/// Sets likeness_. Convolutions and products are compared, because other operators may be fused.
void Matcher::compare(const std::vector<Claim>& claims, double rounds) {
  const auto is_compared = [](std::string_view signature) {
    return signature.starts_with("convolution ") || signature.starts_with("linear ");
  };
  std::map<std::string, double> calls;
  double in_trace = 0;
  for (const Claim& claim : claims) {
    if (claim.again) continue;
    std::string signature = claim.signature;
    if (signature.empty()) {
      const auto own = operator_signatures(steps_.name(claim.node), steps_.shapes(claim.node));
      if (!own.empty()) signature = own.front();
    }
    if (!is_compared(signature)) continue;
    calls[signature] += 1 / rounds;
    in_trace += 1 / rounds;
  }
  std::map<std::string, double> layers;
  double in_model = 0;
  for (const Layer& layer : model_.layers) {
    // A layer may run as one of several operators: the operator in the trace is used.
    std::vector<std::string> signatures = layer_signatures(layer, samples_);
    std::erase_if(signatures, [&](const std::string& each) { return !is_compared(each); });
    if (signatures.empty()) continue;
    const auto found =
        std::find_if(signatures.begin(), signatures.end(), [&](const std::string& each) { return calls.contains(each); });
    layers[found == signatures.end() ? signatures.front() : *found] += 1;
    in_model += 1;
  }
  double same = 0;
  for (const auto& [signature, count] : layers) {
    const auto found = calls.find(signature);
    if (found != calls.end()) same += std::min(count, found->second);
  }
  const double most = std::max(in_trace, in_model);
  likeness_ = most > 0 ? same / most : 1;
}

/// Assigns remaining operators to layers that consist of several operators. The candidates are first the layers
/// without operators that lie between the layers of the previous and of the next assigned operator, and then these two.
void Matcher::place_parts(std::vector<Claim>& claims) const {
  constexpr int most_looked_at = 16;
  std::vector<bool> named(model_.layers.size(), false);
  for (const Claim& claim : claims) {
    if (claim.layer != no_layer) named[claim.layer] = true;
  }
  Layers unnamed;
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (!named[i]) unnamed.push_back(i);
  }
  std::vector<std::size_t> behind(claims.size());
  for (std::size_t i = claims.size(), next = model_.layers.size(); i-- > 0;) {
    behind[i] = next;
    if (claims[i].layer != no_layer) next = claims[i].layer;
  }
  std::size_t before = no_layer;
  // The operators of a layer are contiguous: after an operator of a later layer, all earlier layers are complete.
  std::size_t first = 0;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (claims[i].layer != no_layer) {
      before = claims[i].layer;
      first = before + 1;
      continue;
    }
    const std::string_view name = steps_.name(claims[i].node);
    const bool view = is_view(name);
    // An image is divided into windows before the product that computes queries, keys and values.
    const std::size_t windows = behind[i] + 1;
    if (before != no_layer && windows < model_.layers.size() && behind[i] == before + 1 &&
        model_.layers[windows].operation->type() == "window_attention" &&
        (view || is_part_of(name, *model_.layers[windows].operation))) {
      claims[i].layer = windows;
      continue;
    }
    const auto fits = [&](std::size_t layer) {
      return layer < model_.layers.size() && (view || is_part_of(name, *model_.layers[layer].operation));
    };
    auto between = std::lower_bound(unnamed.begin(), unnamed.end(), first);
    for (int looked = 0; between != unnamed.end() && *between < behind[i] && !fits(*between); ++between) {
      if (++looked == most_looked_at) break;
    }
    if (between != unnamed.end() && *between < behind[i] && fits(*between)) {
      claims[i].layer = *between;
      if (!view) first = *between;
    } else if (fits(before)) {
      claims[i].layer = before;
    } else if (fits(behind[i])) {
      claims[i].layer = behind[i];
    }
  }
}

void Matcher::match(std::size_t step) {
  const TraceSteps::Step& events = steps_.steps()[step];
  std::vector<Claim> claims = claims_of(events);
  join_projections(claims);
  double rounds = 1;
  name_layers(claims, rounds);
  if (step == 0) compare(claims, rounds);
  place_parts(claims);
  add_forward(step, claims);
  add_backward(step, claims);
  for (auto& [layer, times] : times_[step]) {
    for (double* each : {&times.forward, &times.data, &times.weight, &times.rest}) *each /= rounds;
  }
  add_update(step);
  for (const std::size_t node : events.others) leave(node, steps_.seconds(node));
}

void Matcher::leave(std::size_t node, double seconds) {
  auto& [calls, sum] = unmatched_[{short_name(steps_.name(node)), shapes_text(steps_.shapes(node))}];
  ++calls;
  sum += seconds;
}

void Matcher::name_algorithm(std::size_t layer, bool forward, std::size_t node, double seconds) {
  Algorithm& algorithm = (forward ? forward_algorithms_ : backward_algorithms_)[layer];
  std::string name = short_name(steps_.name(node));
  if (seconds > algorithm.seconds || algorithm.name.empty()) {
    algorithm.name = name;
    algorithm.seconds = seconds;
  }
  if (seconds > 0) algorithm.all.insert(std::move(name));
}

void Matcher::add_forward(std::size_t step, const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) {
    const double seconds = steps_.seconds(claim.node);
    if (claim.layer == no_layer) {
      leave(claim.node, seconds);
      continue;
    }
    times_[step][claim.layer].forward += seconds;
    matched_[step] += seconds;
    if (!is_view(steps_.name(claim.node))) name_algorithm(claim.layer, true, claim.node, seconds);
  }
}

/// Records the sums of gradients in a backward node, and returns their time in seconds. If a tensor
/// has several readers, the autograd engine sums its gradients in the node of one reader.
double Matcher::sums_of_gradients(std::size_t step, std::size_t node) {
  double summed = 0;
  const std::size_t end = steps_.node(node).end;
  for (std::size_t i = node + 1; i < end; i = steps_.node(i).end) {
    for (const std::string& signature : operator_signatures(steps_.name(i), steps_.shapes(i))) {
      const auto found = sums_.find(signature);
      if (found == sums_.end()) continue;
      auto& [calls, seconds] = found->second.times[step];
      ++calls;
      seconds += steps_.seconds(i);
      summed += steps_.seconds(i);
      break;
    }
  }
  return summed;
}

/// Divides the time of a backward node between the gradients of inputs and of weights. A fully connected layer is divided by
/// the shapes of its products, a convolution by the names of its kernels.
void Matcher::split_backward(std::size_t node, const Layer& layer, LayerTimesOfStep& into, double seconds) const {
  double data = 0, weight = 0;
  const std::string of = short_name(steps_.name(node));
  const bool is_product = of.starts_with("Addmm") || of.starts_with("Mm") || of.starts_with("Linear");
  if (layer.operation->type() == "fully_connected" || is_product) {
    const std::int64_t in = layer.input_shapes.front().channels;
    const std::int64_t out = layer.output_shape.channels;
    for (std::size_t i = node + 1; i < steps_.node(node).end; ++i) {
      const std::string_view name = steps_.name(i);
      const OperatorShapes& shapes = steps_.shapes(i);
      if (name == "aten::sum") weight += steps_.seconds(i);
      if (name != "aten::mm" || shapes.size() < 2 || shapes[0].size() != 1 || shapes[1].size() != 1) continue;
      const auto& a = shapes[0].front();
      const auto& b = shapes[1].front();
      if (a.size() != 2 || b.size() != 2) continue;
      const bool of_weight = (a[0] == out && b[1] == in) || (a[0] == in && b[1] == out);
      // If there are as many rows as features, the shapes are ambiguous. PyTorch computes the input's gradient first.
      const bool of_data = a[1] == out && b[1] == in && (data == 0 || !of_weight);
      (of_data ? data : weight) += of_data || of_weight ? steps_.seconds(i) : 0;
    }
  } else if (steps_.of_device()) {
    for (const auto& [name, time] : steps_.kernels(node)) {
      if (name.find("dgrad") != std::string_view::npos) data += time;
      if (name.find("wgrad") != std::string_view::npos) weight += time;
    }
  }
  into.data += data;
  into.weight += weight;
  into.rest += std::max(0.0, seconds - data - weight);
}

void Matcher::add_backward(std::size_t step, const std::vector<Claim>& claims) {
  // A backward node belongs to the last forward operator that began before the node got its sequence number.
  std::vector<std::pair<std::int64_t, std::size_t>> numbers;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const std::int64_t number = steps_.node(claims[i].node).event->sequence;
    if (number >= 0) numbers.emplace_back(number, i);
  }
  std::stable_sort(numbers.begin(), numbers.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const std::size_t node : steps_.steps()[step].backward) {
    const std::int64_t number = steps_.node(node).event->sequence;
    const double summed = sums_of_gradients(step, node);
    const double seconds = std::max(0.0, steps_.seconds(node) - summed);
    matched_[step] += summed;
    const auto behind = std::upper_bound(numbers.begin(), numbers.end(), number,
                                         [](std::int64_t value, const auto& each) { return value < each.first; });
    if (number < 0 || behind == numbers.begin() || claims[std::prev(behind)->second].layer == no_layer) {
      leave(node, seconds);
      continue;
    }
    const std::size_t layer = claims[std::prev(behind)->second].layer;
    split_backward(node, model_.layers[layer], times_[step][layer], seconds);
    matched_[step] += seconds;
    name_algorithm(layer, false, node, seconds);
  }
}

void Matcher::add_update(std::size_t step) {
  double seconds = 0;
  for (const std::size_t node : steps_.steps()[step].optimizer) {
    seconds += steps_.seconds(node);
    if (!steps_.name(node).starts_with("aten::")) optimizer_ = std::string(steps_.name(node));
  }
  update_.push_back(seconds);
  matched_[step] += seconds;
}

std::vector<ImportedLayer> Matcher::layer_times() const {
  const auto algorithm = [](const std::unordered_map<std::size_t, Algorithm>& all, std::size_t layer) {
    const auto found = all.find(layer);
    if (found == all.end()) return std::string();
    const std::size_t others = found->second.all.empty() ? 0 : found->second.all.size() - 1;
    return others == 0 ? found->second.name : fmt::format("{} and {} more", found->second.name, others);
  };
  const auto keep = [](PassTimes& times, double seconds) {
    if (seconds > 0) times.seconds.push_back(seconds);
  };
  std::vector<ImportedLayer> result(model_.layers.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    ImportedLayer& layer = result[i];
    layer.forward.algorithm = algorithm(forward_algorithms_, i);
    for (PassTimes* each : {&layer.backward, &layer.backward_data, &layer.backward_weight}) {
      each->algorithm = algorithm(backward_algorithms_, i);
    }
    const auto in_step = [&](std::size_t step) {
      const auto found = times_[step].find(i);
      return found == times_[step].end() ? LayerTimesOfStep{} : found->second;
    };
    bool split = true;
    for (std::size_t step = 0; step < times_.size(); ++step) {
      const LayerTimesOfStep times = in_step(step);
      split = split && ((times.data > 0 && times.weight > 0) || times.data + times.weight + times.rest == 0);
    }
    for (std::size_t step = 0; step < times_.size(); ++step) {
      const LayerTimesOfStep times = in_step(step);
      keep(layer.forward, times.forward);
      const double told = times.data + times.weight;
      if (split && told > 0) {
        keep(layer.backward_data, times.data + times.rest * times.data / told);
        keep(layer.backward_weight, times.weight + times.rest * times.weight / told);
      } else {
        keep(layer.backward, told + times.rest);
      }
      if (parameters_ > 0) {
        const double share = static_cast<double>(model_.layers[i].parameters()) / parameters_;
        keep(layer.update, update_[step] * share);
      }
    }
    if (!layer.update.seconds.empty()) layer.update.algorithm = optimizer_ + " by parameters";
  }
  for (const auto& [signature, sums] : sums_) {
    PassTimes addition{.seconds = {}, .algorithm = "aten::add of gradients"};
    for (const auto& [calls, seconds] : sums.times) keep(addition, calls > 0 ? seconds / calls : 0);
    for (const std::size_t layer : sums.layers) result[layer].addition = addition;
    for (const std::size_t layer : sums.tables) result[layer].table_addition = addition;
  }
  return result;
}

void Matcher::report(ProfileImport& into) const {
  constexpr std::size_t most_unmatched = 1000;
  std::vector<double> steps;
  double matched = 0, all = 0, copies = 0;
  for (std::size_t i = 0; i < matched_.size(); ++i) {
    const TraceSteps::Step& step = steps_.steps()[i];
    steps.push_back(steps_.of_device() ? step.busy : step.seconds);
    matched += matched_[i];
    copies += step.copies;
    all += steps.back();
  }
  const auto count = static_cast<double>(matched_.size());
  into.steps = static_cast<int>(matched_.size());
  into.of_device = steps_.of_device();
  into.step = Seconds(median(steps));
  // The matched share of the mean step is applied to the median step.
  into.matched = all > 0 ? into.step * std::min(1.0, matched / all) : Seconds(0);
  double left = 0;
  for (const auto& [key, total] : unmatched_) {
    left += total.second;
    if (total.second > 0) {
      into.unmatched.push_back({key.first, key.second, total.first / count, Seconds(total.second / count)});
    }
  }
  if (copies > 0) into.unmatched.push_back({"(copies between host and device)", "", 1, Seconds(copies / count)});
  const double between = all - matched - left - copies;
  if (between > 0) {
    const std::string name = steps_.of_device() ? "(kernels of no operator)" : "(between operators)";
    into.unmatched.push_back({name, "", 1, Seconds(between / count)});
  }
  std::stable_sort(into.unmatched.begin(), into.unmatched.end(),
                   [](const UnmatchedOperator& a, const UnmatchedOperator& b) { return a.time > b.time; });
  if (into.unmatched.size() > most_unmatched) into.unmatched.resize(most_unmatched);
}

/// The number of samples of a step is the number with which most operators match a layer.
std::int64_t samples_of(const Model& model, const TraceSteps& steps) {
  constexpr std::size_t most_tried = 32;
  constexpr std::int64_t most_samples = std::int64_t{1} << 30U;
  std::map<std::int64_t, int> votes;
  std::int64_t largest = model.input.items();
  std::map<std::pair<std::int64_t, std::int64_t>, std::set<std::int64_t>> positions;  // positions of fully connected layers
  for (const Layer& layer : model.layers) {
    largest = std::max(largest, layer.output_shape.items());
    if (layer.operation->type() == "fully_connected") {
      const TensorShape& input = layer.input_shapes.front();
      positions[{input.channels, layer.output_shape.channels}].insert(input.positions());
    }
  }
  const auto vote = [&](std::int64_t samples) {
    if (samples >= 1 && samples <= most_samples && samples <= max_items / largest) ++votes[samples];
  };
  const TraceSteps::Step& step = steps.steps().front();
  for (const std::size_t node : step.forward) {
    const std::string_view name = steps.name(node);
    const OperatorShapes& shapes = steps.shapes(node);
    if (const LinearShape linear = linear_shape(name, shapes); linear.in > 0) {
      const auto found = positions.find({linear.in, linear.out});
      if (found == positions.end()) continue;
      for (const std::int64_t each : found->second) {
        if (linear.rows % each == 0) vote(linear.rows / each);
      }
    } else if (!shapes.empty() && shapes[0].size() == 1 && shapes[0].front().size() > 2) {
      vote(shapes[0].front().front());
    }
  }
  std::vector<std::pair<int, std::int64_t>> tried;
  for (const auto& [samples, count] : votes) tried.emplace_back(-count, samples);
  std::sort(tried.begin(), tried.end());
  if (tried.size() > most_tried) tried.resize(most_tried);
  std::int64_t best = 0;
  std::size_t most = 0;
  for (const auto& [count, samples] : tried) {
    const LayerSignatures signatures(model, samples);
    std::size_t matched = 0;
    for (const std::size_t node : step.forward) {
      matched += signatures.of_operator(steps.name(node), steps.shapes(node)) ? 1U : 0U;
    }
    if (matched > most) {
      most = matched;
      best = samples;
    }
  }
  return best;
}

/// The number format of most products and convolutions.
Precision precision_of(const Trace& trace) {
  std::map<TraceEvent::Items, int> counts;
  for (const TraceEvent& event : trace.events) {
    const std::string& name = trace.names[static_cast<std::size_t>(event.name)];
    for (const std::string_view each :
         {"aten::addmm", "aten::mm", "aten::bmm", "aten::_convolution", "aten::cudnn_convolution"}) {
      if (name == each) ++counts[event.items];
    }
  }
  const auto half = [&](TraceEvent::Items items) { return counts[items] > counts[TraceEvent::Items::fp32]; };
  if (half(TraceEvent::Items::bf16)) return Precision::bf16;
  return half(TraceEvent::Items::fp16) ? Precision::fp16 : Precision::fp32;
}

/// The optimizer of the steps in the trace. SGD with momentum has a multiplication; a fused SGD with momentum has a third
/// list of tensors.
Optimizer optimizer_of(const TraceSteps& steps) {
  for (const TraceSteps::Step& step : steps.steps()) {
    for (const std::size_t node : step.optimizer) {
      if (steps.name(node).find("Adam") != std::string_view::npos) return Optimizer::adam;
      for (std::size_t i = node; i < steps.node(node).end; ++i) {
        if (steps.name(i) == "aten::mul_" || steps.name(i) == "aten::_foreach_mul_") return Optimizer::momentum;
        const OperatorShapes& shapes = steps.shapes(i);
        // An empty list has the same shape as a number: a tensor without dimensions.
        if (steps.name(i) == "aten::_fused_sgd_" && shapes.size() > 2 && !shapes[2].empty() && !shapes[2].front().empty()) {
          return Optimizer::momentum;
        }
      }
    }
  }
  return Optimizer::sgd;
}

/// Returns a warning if the convolutions and products of the trace are not those of the model; empty otherwise. The warning
/// names the model among `others` that fits.
std::string other_model_warning(const Model& model, const TraceSteps& steps, double likeness,
                                const std::vector<std::string>& others) {
  constexpr double like_enough = 0.9;
  if (likeness >= like_enough) return {};
  std::string best;
  double most = std::max(like_enough, likeness);
  for (const std::string& name : others) {
    const Model other = load_model(name);
    if (other.input.sequence != model.input.sequence || other.input.rank != model.input.rank || other.name == model.name)
      continue;
    const std::int64_t samples = samples_of(other, steps);
    if (samples == 0) continue;
    const double own = Matcher(other, samples, steps, true).likeness();
    if (own <= most) continue;
    most = own;
    best = name;
  }
  std::string text =
      fmt::format("only {:.0f} % of the convolutions and products of the trace and of {} agree", 100 * likeness, model.name);
  text += best.empty()
              ? ": check that the trace is of that model"
              : fmt::format("; those of {} agree by {:.0f} %: the trace is probably of that model", best, 100 * most);
  return text;
}

/// Returns the user's name of a model with another value of a parameter.
std::string with_parameter(std::string name, std::string_view parameter, const std::string& value) {
  const std::string change = fmt::format("@{}=", parameter);
  // The name of a folder may contain an `@` too.
  if (const std::size_t earlier = name.find(change, name.find_last_of('/') + 1); earlier != std::string::npos)
    name.erase(earlier, name.find('@', earlier + 1) - earlier);
  return name + change + value;
}

/// A hint for a trace without operators of the model: the sizes that most operators of the trace have. `asked`: the user's
/// name of the model.
std::string sizes_hint(const Model& model, const std::string& asked, const TraceSteps& steps) {
  const std::size_t rank = model.input.sequence ? 3 : static_cast<std::size_t>(model.input.rank) + 2;
  std::map<std::vector<std::int64_t>, int> counts;  // sizes of a sample, without the channels of a sequence
  for (const std::size_t node : steps.steps().front().forward) {
    const OperatorShapes& shapes = steps.shapes(node);
    if (shapes.empty() || shapes.front().empty() || shapes.front().front().size() != rank) continue;
    const std::vector<std::int64_t>& input = shapes.front().front();
    if (std::any_of(input.begin(), input.end(), [](std::int64_t size) { return size < 1; })) continue;
    if (model.input.sequence) {
      ++counts[{input[1]}];
    } else if (input[1] == model.input.channels) {
      ++counts[{input.begin() + 1, input.end()}];
    }
  }
  const std::string otherwise = "check that the trace is of that model, with images or sequences of that size";
  if (counts.empty()) return otherwise;
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::string sizes = fmt::format("{}", fmt::join(most->first, "x"));
  const std::size_t first = model.input.sequence ? 0 : 1;  // after the channels
  if (std::equal(most->first.begin() + static_cast<std::ptrdiff_t>(first), most->first.end(), model.input.extent.begin()))
    return otherwise;
  return model.input.sequence
             ? fmt::format("the trace has sequences of {} tokens: --model {}", sizes, with_parameter(asked, "tokens", sizes))
             : fmt::format("the trace has inputs of {}: --model {}", sizes, with_parameter(asked, "input", sizes));
}

}  // namespace

ProfileImport import_pytorch_trace(std::string text, const std::string& origin, const Model& model,
                                   const ProfileImportOptions& options) {
  const Trace trace = parse_trace(std::move(text), origin);
  const TraceSteps steps(trace);
  const auto has_shapes = [](const TraceEvent& event) { return event.shapes >= 0; };
  if (steps.steps().empty() || std::all_of(steps.steps().begin(), steps.steps().end(),
                                           [](const TraceSteps::Step& step) { return step.forward.empty(); })) {
    throw Error(fmt::format("{}: the trace has no operators of PyTorch in a step", origin),
                "profile with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], and call profiler.step()");
  }
  if (std::none_of(trace.events.begin(), trace.events.end(), has_shapes)) {
    throw Error(fmt::format("{}: the trace has no shapes of tensors", origin),
                "profile with torch.profiler.profile(record_shapes=True)");
  }
  ProfileImport result;
  const std::int64_t found = samples_of(model, steps);
  if (found == 0) {
    throw Error(fmt::format("{}: no operator of the trace has the shapes of a layer of {}", origin, model.name),
                sizes_hint(model, options.model.empty() ? model.name : options.model, steps));
  }
  result.samples = options.samples.value_or(found);
  check_samples(model, result.samples);
  if (result.samples != found) {
    result.warnings.push_back(fmt::format("most operators of the trace have {} samples, not {}", found, result.samples));
  }
  result.precision = options.precision.value_or(precision_of(trace));
  const std::string device = options.device.empty() && steps.of_device() ? trace.device : options.device;
  if (device.empty()) throw Error("the trace does not state its device", "add --device NAME");
  result.profile.head = {.model = model.name, .backend = "pytorch", .device = device};
  if (steps.left_out() > 0) {
    result.warnings.push_back(fmt::format("only the first {} of {} steps are read", steps.steps().size(),
                                          steps.steps().size() + steps.left_out()));
  }
  if (!steps.marked()) {
    result.warnings.emplace_back("no steps are marked (ProfilerStep#…): the whole trace counts as one");
  }
  const Matcher matcher(model, result.samples, steps);
  const double likeness = result.samples == found ? matcher.likeness() : Matcher(model, found, steps, true).likeness();
  if (std::string warning = other_model_warning(model, steps, likeness, options.others); !warning.empty())
    result.warnings.push_back(std::move(warning));
  add_rows(result, model, matcher.layer_times(), options.optimizer.value_or(optimizer_of(steps)));
  matcher.report(result);
  return result;
}

}  // namespace ddl
