#include "calibration/communication/network_section.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include "calibration/communication/exchange_facts.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/units.hpp"
#include "core/yaml_section.hpp"

namespace ddl {
namespace {

std::vector<YamlNode> items_of(const YamlNode& node, std::size_t count, const std::string& example) {
  std::vector<YamlNode> items = node.items();
  if (items.size() != count) node.fail(fmt::format("expected {} items, found {}", count, items.size()), "write " + example);
  return items;
}

std::pair<int, int> read_counts(const YamlNode& node) {
  const std::vector<YamlNode> items = items_of(node, 2, "[2, 64]: the least and the most that were measured");
  const auto low = static_cast<int>(items[0].integer(1, most_exchange_ranks));
  const auto high = static_cast<int>(items[1].integer(1, most_exchange_ranks));
  if (high < low) node.fail("the second number is below the first", "write the least first");
  return {low, high};
}

Seconds read_seconds(const YamlNode& node) { return node.seconds(true); }
Bandwidth read_bandwidth(const YamlNode& node) { return node.bandwidth(); }

/// `[20 us, 18 us, 22 us]`: the value and its interval, of which an end may be `unknown`.
template <class Unit>
MeasuredValue<Unit> read_value(const YamlNode& node, Unit (*read)(const YamlNode&)) {
  const std::vector<YamlNode> items = items_of(node, 3, "the value and the two ends of its interval");
  const auto end = [&](const YamlNode& item) {
    return item.text() == "unknown" ? std::nullopt : std::optional<Unit>(read(item));
  };
  MeasuredValue<Unit> value{read(items[0]), end(items[1]), end(items[2])};
  if ((value.low && *value.low > value.value) || (value.high && *value.high < value.value)) {
    node.fail("the value lies outside its interval", "write the value, the lower end, the upper end");
  }
  return value;
}

void write_list(YAML::Emitter& out, std::initializer_list<std::string> items) {
  out << YAML::Flow << YAML::BeginSeq;
  for (const std::string& item : items) out << item;
  out << YAML::EndSeq;
}

template <class Unit>
void write_value(YAML::Emitter& out, const char* key, const std::optional<MeasuredValue<Unit>>& value) {
  if (!value) return;
  const auto end = [](const std::optional<Unit>& unit) { return unit ? print_quantity(*unit) : "unknown"; };
  out << key;
  write_list(out, {print_quantity(value->value), end(value->low), end(value->high)});
}

void write_entry(YAML::Emitter& out, const MeasuredNetwork& entry) {
  out << YAML::BeginMap << "operation" << std::string(to_string(entry.operation)) << "level"
      << std::string(to_string(entry.level)) << "algorithm" << entry.algorithm;
  if (entry.shared)
    out << "shared"
        << "yes";
  out << "ranks";
  write_list(out, {std::to_string(entry.min_ranks), std::to_string(entry.max_ranks)});
  out << "nodes";
  write_list(out, {std::to_string(entry.min_nodes), std::to_string(entry.max_nodes)});
  out << "messages";
  write_list(out, {print_quantity(entry.min_message), print_quantity(entry.max_message)});
  write_value(out, "alpha", entry.alpha);
  write_value(out, "bandwidth", entry.bandwidth);
  out << "r2" << fmt::format("{}", entry.r2) << "residual" << YAML::Flow << YAML::BeginMap << "median"
      << fmt::format("{}", entry.median_residual) << "worst" << fmt::format("{}", entry.worst_residual) << YAML::EndMap
      << "points" << entry.points << "source" << YAML::DoubleQuoted << entry.source << YAML::EndMap;
}

MeasuredNetwork read_entry(const YamlNode& node) {
  node.only_keys({"operation", "level", "algorithm", "shared", "ranks", "nodes", "messages", "alpha", "bandwidth", "r2",
                  "residual", "points", "source"});
  MeasuredNetwork entry;
  const YamlNode operation = node.at("operation");
  if (const auto parsed = parse_operation(operation.text())) {
    entry.operation = *parsed;
  } else {
    operation.fail(fmt::format("unknown operation {}", quote(operation.text())),
                   suggest(operation.text(), operation_names()));
  }
  const YamlNode level = node.at("level");
  if (const auto parsed = parse_level(level.text())) {
    entry.level = *parsed;
  } else {
    level.fail(fmt::format("unknown level {}", quote(level.text())), "known: node, between-nodes");
  }
  entry.algorithm = node.at("algorithm").name();
  if (const auto shared = node.find("shared")) entry.shared = shared->boolean();
  std::tie(entry.min_ranks, entry.max_ranks) = read_counts(node.at("ranks"));
  std::tie(entry.min_nodes, entry.max_nodes) = read_counts(node.at("nodes"));
  const YamlNode messages = node.at("messages");
  const std::vector<YamlNode> sizes =
      items_of(messages, 2, "[1 MiB, 1 GiB]: the smallest and the largest that were measured");
  entry.min_message = sizes[0].bytes();
  entry.max_message = sizes[1].bytes();
  if (entry.max_message < entry.min_message) messages.fail("the second size is below the first", "write the smallest first");
  if (const auto alpha = node.find("alpha")) entry.alpha = read_value(*alpha, read_seconds);
  if (const auto bandwidth = node.find("bandwidth")) entry.bandwidth = read_value(*bandwidth, read_bandwidth);
  if (!entry.alpha && !entry.bandwidth) node.fail("neither 'alpha' nor 'bandwidth'", "one of them was measured");
  entry.r2 = node.at("r2").number(-std::numeric_limits<double>::max(), 1);
  const YamlNode residual = node.at("residual");
  residual.only_keys({"median", "worst"});
  entry.median_residual = residual.at("median").number(0);
  entry.worst_residual = residual.at("worst").number(0);
  entry.points = static_cast<int>(node.at("points").integer(1, std::numeric_limits<int>::max()));
  entry.source = node.at("source").text();
  return entry;
}

}  // namespace

std::vector<MeasuredNetwork> read_measured_network(const YamlNode& section) {
  std::vector<MeasuredNetwork> network;
  for (const YamlNode& item : section.items()) network.push_back(read_entry(item));
  return network;
}

std::string print_measured_network(std::span<const MeasuredNetwork> network) {
  YAML::Emitter out;
  out << YAML::BeginMap << "communication";
  if (network.empty()) out << YAML::Flow;
  out << YAML::BeginSeq;
  for (const MeasuredNetwork& entry : network) write_entry(out, entry);
  out << YAML::EndSeq << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

std::string with_network_section(const std::string& file, std::span<const MeasuredNetwork> network) {
  return replace_section(file, {"communication"}, print_measured_network(network));
}

}  // namespace ddl
