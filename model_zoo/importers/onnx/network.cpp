#include "model_zoo/importers/onnx/network.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/source_text.hpp"

namespace ddl::onnx_import {

bool NetworkLayer::has(std::string_view attribute, std::string_view value) const {
  return std::any_of(attributes.begin(), attributes.end(),
                     [&](const auto& entry) { return entry.first == attribute && entry.second == value; });
}

void NetworkLayer::set(std::string_view attribute, std::string_view value) {
  for (auto& entry : attributes) {
    if (entry.first != attribute) continue;
    entry.second = value;
    return;
  }
  attributes.emplace_back(attribute, value);
}

int Network::add(NetworkLayer layer) {
  layer.name = unique(layer.name);
  for (const int tensor : layer.inputs) {
    if (tensor >= 0) ++readers_[static_cast<std::size_t>(tensor)];
  }
  const int index = static_cast<int>(layers.size());
  const bool is_tied = std::any_of(layer.attributes.begin(), layer.attributes.end(),
                                   [](const auto& attribute) { return attribute.first == "tied"; });
  if (!layer.weight.empty() && layer.has_whole_weight && !is_tied) {
    owners_[layer.weight].push_back(index);
    if (layer.operation == "embedding") embeddings_.emplace(layer.weight, index);
  }
  layers.push_back(std::move(layer));
  readers_.push_back(0);
  return index;
}

int Network::embedding_with(const std::string& table) const {
  const auto found = embeddings_.find(table);
  return found == embeddings_.end() ? -1 : found->second;
}

std::vector<std::string> Network::warnings_of_shared() const {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto owners = owners_.find(layers[i].weight);
    if (owners == owners_.end() || owners->second.size() < 2 || owners->second.front() != static_cast<int>(i)) continue;
    const std::size_t others = owners->second.size() - 2;
    const std::string& second = layers[static_cast<std::size_t>(owners->second[1])].name;
    found.push_back(fmt::format("{}{} {}{} share the weights {}, which are counted for each of them", quote(layers[i].name),
                                others == 0 ? " and" : ",", quote(second),
                                others == 0   ? ""
                                : others == 1 ? " and 1 other layer"
                                              : fmt::format(" and {} other layers", others),
                                quote(owners->first)));
  }
  return found;
}

int Network::add_once(NetworkLayer layer) {
  std::string key = layer.operation;
  key += ' ' + layer.weight;
  for (const auto& [name, value] : layer.attributes) key += fmt::format(" {}={}", name, value);
  const std::pair<int, std::string> place{layer.inputs.front(), key};
  const auto found = once_.find(place);
  if (found != once_.end()) return found->second;
  const int index = add(std::move(layer));
  once_.emplace(place, index);
  return index;
}

void Network::rename(int layer, const std::string& wish) {
  std::string& name = layers[static_cast<std::size_t>(layer)].name;
  names_.erase(name);
  name = unique(wish);
}

void Network::remove(int layer) {
  NetworkLayer& gone = layers[static_cast<std::size_t>(layer)];
  gone.removed = true;
  for (const int tensor : gone.inputs) {
    if (tensor >= 0) --readers_[static_cast<std::size_t>(tensor)];
  }
}

std::string Network::unique(const std::string& wish) {
  constexpr std::size_t longest = 80;
  std::string stem = plain_name(wish);
  if (stem.size() > longest) stem = plain_name(std::string_view(stem).substr(stem.size() - longest));
  if (stem.empty()) stem = "layer";
  std::string name = stem;
  int& counter = counters_[stem];
  while (!names_.insert(name).second) name = fmt::format("{}_{}", stem, ++counter + 1);
  return name;
}

std::string plain_name(std::string_view text) {
  std::string name;
  bool gap = false;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!plain) {
      gap = true;
      continue;
    }
    if (gap && !name.empty()) name += '_';
    gap = false;
    name += c;
  }
  return name;
}

std::string extents_text(const std::vector<std::int64_t>& sizes) {
  const bool equal = std::all_of(sizes.begin(), sizes.end(), [&](std::int64_t size) { return size == sizes.front(); });
  if (equal && !sizes.empty()) return fmt::to_string(sizes.front());
  return fmt::format("{}", fmt::join(sizes, "x"));
}

}  // namespace ddl::onnx_import
