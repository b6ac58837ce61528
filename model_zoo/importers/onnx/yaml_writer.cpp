#include "model_zoo/importers/onnx/yaml_writer.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace ddl::onnx_import {
namespace {

/// A text as YAML reads it back: in quotes unless it is a plain word that means nothing else.
std::string scalar(const std::string& text) {
  constexpr std::array<std::string_view, 9> meanings{"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
  std::string small = text;  // a meaning may have capitals
  std::transform(small.begin(), small.end(), small.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_plain = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.'; };
  const bool plain = !text.empty() && is_letter(text.front()) && std::all_of(text.begin(), text.end(), is_plain) &&
                     std::find(meanings.begin(), meanings.end(), small) == meanings.end();
  if (plain) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    // What is no letter of ASCII need not be UTF-8.
    if (c < ' ' || c > '~') {
      quoted += '?';
    } else {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string input_text(const TensorShape& input) {
  if (input.sequence && input.channels == 1) return fmt::format("{{tokens: {}}}", input.extent[0]);
  if (input.sequence) return fmt::format("{{tokens: {}, channels: {}}}", input.extent[0], input.channels);
  if (input.rank == 0) return fmt::format("{{features: {}}}", input.channels);
  return fmt::format("{{channels: {}, size: {}}}", input.channels,
                     fmt::join(input.extent.begin(), input.extent.begin() + input.rank, "x"));
}

std::string attributes_text(const NetworkLayer& layer) {
  if (layer.attributes.empty()) return ":";
  constexpr std::array<std::string_view, 8> with_main{"fully_connected",    "norm",  "activation", "dropout", "loss",
                                                      "position_embedding", "scale", "crop"};
  const bool has_main = std::find(with_main.begin(), with_main.end(), layer.operation) != with_main.end();
  if (has_main && layer.attributes.size() == 1) return ": " + layer.attributes.front().second;
  std::string text;
  for (const auto& [name, value] : layer.attributes) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, name == "tied" ? scalar(value) : value);
  }
  return fmt::format(": {{{}}}", text);
}

}  // namespace

std::string model_file(const Heading& heading, const Network& network) {
  std::string text =
      fmt::format("format: 1\nmodel: {}\ndescription: {}\n", scalar(heading.name), scalar(heading.description));
  if (!heading.source.empty()) text += fmt::format("source: {}\n", scalar(heading.source));
  text += fmt::format("input: {}\nlayers:\n", input_text(network.input));
  const auto name_of = [&](int tensor) {
    return tensor < 0 ? std::string("input") : scalar(network.layers[static_cast<std::size_t>(tensor)].name);
  };
  int previous = -1;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const NetworkLayer& layer = network.layers[i];
    if (layer.removed) continue;
    text += fmt::format("  - {}{}\n    name: {}\n", layer.operation, attributes_text(layer), scalar(layer.name));
    if (layer.inputs.size() > 1) {
      std::string from;
      for (const int input : layer.inputs) from += (from.empty() ? "" : ", ") + name_of(input);
      text += fmt::format("    from: [{}]\n", from);
    } else if (layer.inputs.front() != previous) {
      text += fmt::format("    from: {}\n", name_of(layer.inputs.front()));
    }
    previous = static_cast<int>(i);
  }
  return text;
}

}  // namespace ddl::onnx_import
