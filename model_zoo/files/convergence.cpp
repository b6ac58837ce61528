#include "model_zoo/files/convergence.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "core/bundled_yaml.hpp"
#include "core/embedded.hpp"
#include "core/error.hpp"
#include "core/file_format.hpp"
#include "core/yaml_node.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/operations/shape_rules.hpp"

namespace ddl {

// This function is generated from the files in convergence/.
std::span<const EmbeddedFile> bundled_convergence();

namespace {

constexpr double largest_count = 1'000'000'000'000'000'000.0;
constexpr std::int64_t largest_batch = std::int64_t{1} << 40;
constexpr std::int64_t most_runs = 1'000'000;

/// Reads a point of a convergence file. The amount of training is given in samples, epochs or tokens, and is converted to
/// samples. `epoch`: number of samples of an epoch. `tokens`: number of tokens of a sample.
ConvergencePoint read_point(const YamlNode& node, const std::optional<std::int64_t>& epoch,
                            const std::optional<std::int64_t>& tokens) {
  node.only_keys({"batch", "samples", "epochs", "tokens", "runs"});
  ConvergencePoint point;
  point.batch = node.at("batch").integer(1, largest_batch);
  if (const auto runs = node.find("runs")) point.runs = static_cast<int>(runs->integer(1, most_runs));
  int units = 0;
  const auto read = [&](std::string_view key, const std::optional<double>& samples_of_one, std::string_view needs) {
    const auto value = node.find(key);
    if (!value) return;
    ++units;
    if (!samples_of_one) value->fail(fmt::format("{} need the key '{}' of the file", key, needs));
    point.samples = value->number(1e-6, largest_count) * *samples_of_one;
  };
  read("samples", 1.0, "");
  read("epochs", epoch ? std::optional(static_cast<double>(*epoch)) : std::nullopt, "epoch");
  read("tokens", tokens ? std::optional(1.0 / static_cast<double>(*tokens)) : std::nullopt, "tokens");
  if (units != 1) node.fail("a point has one of 'samples', 'epochs' and 'tokens'");
  return point;
}

Convergence read_convergence(const YamlNode& root) {
  root.only_keys({"format", "model", "target", "source", "epoch", "tokens", "points"});
  check_format(root);
  Convergence convergence;
  convergence.model = root.at("model").name();
  convergence.target = root.at("target").name();
  convergence.source = root.at("source").text();
  std::optional<std::int64_t> epoch;
  if (const auto samples = root.find("epoch")) epoch = samples->integer(1, max_items);
  if (const auto tokens = root.find("tokens")) convergence.tokens = tokens->integer(1, max_items);
  const YamlNode points = root.at("points");
  for (const YamlNode& node : points.items()) {
    const ConvergencePoint point = read_point(node, epoch, convergence.tokens);
    if (!convergence.points.empty() && point.batch <= convergence.points.back().batch) node.fail("the batches must ascend");
    convergence.points.push_back(point);
  }
  if (convergence.points.size() < 2) points.fail("at least two points are needed");
  return convergence;
}

/// Returns the name of a model and its parameters (`lora=16`), in any order, without the length of its samples.
std::set<std::string> parts_but_tokens(const std::string& name) {
  std::set<std::string> parts;
  std::istringstream text(name);
  for (std::string part; std::getline(text, part, '@');) {
    if (!part.starts_with("tokens=")) parts.insert(part);
  }
  return parts;
}

}  // namespace

std::optional<double> Convergence::samples_at(std::int64_t batch) const {
  if (batch < least_batch() || batch > most_batch()) return std::nullopt;
  const auto above = std::lower_bound(points.begin(), points.end(), batch,
                                      [](const ConvergencePoint& point, std::int64_t asked) { return point.batch < asked; });
  if (above->batch == batch) return above->samples;
  const ConvergencePoint& below = *(above - 1);
  const double part = std::log(static_cast<double>(batch) / static_cast<double>(below.batch)) /
                      std::log(static_cast<double>(above->batch) / static_cast<double>(below.batch));
  return below.samples * std::pow(above->samples / below.samples, part);
}

std::optional<NoiseScale> Convergence::noise_scale() const {
  // The code fits E = a + b B, with each point weighted by 1 / E². Each variable is the sum of one
  // product B^i E^j / E² over all points.
  double one = 0, by_batch = 0, by_square = 0, right = 0, right_by_batch = 0;
  for (const ConvergencePoint& point : points) {
    const double batch = static_cast<double>(point.batch), weight = 1 / (point.samples * point.samples);
    one += weight;
    by_batch += weight * batch;
    by_square += weight * batch * batch;
    right += weight * point.samples;
    right_by_batch += weight * point.samples * batch;
  }
  const double determinant = one * by_square - by_batch * by_batch;
  const double a = (right * by_square - right_by_batch * by_batch) / determinant;
  const double b = (one * right_by_batch - by_batch * right) / determinant;
  // The condition is written so that NaN does not pass.
  const bool grows = a > 0 && b > 0;
  if (!grows) return std::nullopt;
  NoiseScale scale{a, a / b, 0};
  for (const ConvergencePoint& point : points) {
    const double predicted = a + b * static_cast<double>(point.batch);
    scale.worst_error = std::max(scale.worst_error, std::abs(predicted / point.samples - 1));
  }
  return scale;
}

std::vector<std::string> convergence_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : bundled_convergence()) {
    const Convergence convergence = read_convergence(bundled_yaml(file));
    std::string name = convergence.model;
    // If the model has another sequence length by default, the name contains the length of these samples.
    const bool names_tokens = name.find("@tokens=") != std::string::npos;
    if (convergence.tokens && !names_tokens && load_model(name).sequence_length != *convergence.tokens)
      name += fmt::format("@tokens={}", *convergence.tokens);
    names.push_back(std::move(name));
  }
  return names;
}

std::optional<Convergence> convergence_of(const Model& model) {
  // A model with another sample length (`@tokens`) is the same model. A change of any other
  // parameter makes it a different model.
  const std::set<std::string> asked = parts_but_tokens(model.name);
  for (const EmbeddedFile& file : bundled_convergence()) {
    Convergence convergence = read_convergence(bundled_yaml(file));
    if (parts_but_tokens(convergence.model) != asked) continue;
    if (convergence.tokens && *convergence.tokens != model.sequence_length) return std::nullopt;
    return convergence;
  }
  return std::nullopt;
}

Convergence parse_convergence(std::string text, std::string origin) {
  return read_convergence(YamlNode::parse(std::move(text), std::move(origin)));
}

}  // namespace ddl
