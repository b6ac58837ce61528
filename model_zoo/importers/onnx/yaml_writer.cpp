#include "model_zoo/importers/onnx/yaml_writer.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

namespace ddl::onnx_import {
namespace {

/// Replaces control characters and non-ASCII characters by '?'. Non-ASCII characters may be invalid UTF-8.
std::string ascii(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

void write_input(YAML::Emitter& out, const TensorShape& input) {
  out << YAML::Flow << YAML::BeginMap;
  if (input.sequence) out << "tokens" << input.extent[0];
  if (!input.sequence && input.rank == 0) out << "features" << input.channels;
  if (input.sequence ? input.channels != 1 : input.rank > 0) out << "channels" << input.channels;
  if (!input.sequence && input.rank > 0)
    out << "size" << fmt::format("{}", fmt::join(input.extent.begin(), input.extent.begin() + input.rank, "x"));
  out << YAML::EndMap;
}

void write_attributes(YAML::Emitter& out, const NetworkLayer& layer) {
  constexpr std::array<std::string_view, 8> with_main{"fully_connected",    "norm",  "activation", "dropout", "loss",
                                                      "position_embedding", "scale", "crop"};
  const bool has_main = std::find(with_main.begin(), with_main.end(), layer.operation) != with_main.end();
  if (has_main && layer.attributes.size() == 1) {
    out << layer.attributes.front().second;
    return;
  }
  out << YAML::Flow << YAML::BeginMap;
  for (const auto& [name, value] : layer.attributes) out << name << ascii(value);
  out << YAML::EndMap;
}

}  // namespace

std::string model_file(const Heading& heading, const Network& network) {
  YAML::Emitter out;
  out << YAML::BeginMap << "format" << 1 << "model" << ascii(heading.name) << "description" << ascii(heading.description);
  if (!heading.source.empty()) out << "source" << ascii(heading.source);
  out << "input";
  write_input(out, network.input);
  out << "layers" << YAML::BeginSeq;
  const auto name_of = [&](int tensor) {
    return tensor < 0 ? std::string("input") : ascii(network.layers[static_cast<std::size_t>(tensor)].name);
  };
  int previous = -1;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const NetworkLayer& layer = network.layers[i];
    if (layer.removed) continue;
    out << YAML::BeginMap << layer.operation;
    write_attributes(out, layer);
    out << "name" << ascii(layer.name);
    if (layer.inputs.size() > 1) {
      out << "from" << YAML::Flow << YAML::BeginSeq;
      for (const int input : layer.inputs) out << name_of(input);
      out << YAML::EndSeq;
    } else if (layer.inputs.front() != previous) {
      out << "from" << name_of(layer.inputs.front());
    }
    out << YAML::EndMap;
    previous = static_cast<int>(i);
  }
  out << YAML::EndSeq << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace ddl::onnx_import
