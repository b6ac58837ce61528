#include "calibration/network/fits/network_section.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include "calibration/files/day.hpp"
#include "calibration/network/benchmarks/exchange_facts.hpp"
#include "calibration/network/benchmarks/nccl_log.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/units.hpp"
#include "core/yaml_section.hpp"

namespace ddl {
namespace {

constexpr double most_window = 1 << 20;
/// Larger spreads of repetitions are refused.
constexpr double most_spread = 100;

/// Times with at most five digits are printed in microseconds, for easy comparison. Other times are printed in full.
std::string microseconds(Seconds time) {
  if (std::strtod(fmt::format("{:.4e}", time.value()).c_str(), nullptr) != time.value()) return print_quantity(time);
  const double value = time.value() * 1e6;
  return value < 1e4 ? fmt::format("{:.5g} us", value) : fmt::format("{:.0f} us", value);
}

void write_entry(YAML::Emitter& out, const MeasuredCurve& curve) {
  out << YAML::BeginMap << "operation" << std::string(to_string(curve.operation)) << "ranks" << curve.ranks << "nodes"
      << curve.nodes;
  if (curve.window != 1) out << "window" << fmt::format("{}", curve.window);
  if (curve.both_ways)
    out << "both_ways"
        << "yes";
  if (curve.spread != 1) out << "spread" << fmt::format("{}", curve.spread);
  if (!curve.tool.empty()) out << "tool" << YAML::DoubleQuoted << curve.tool;
  if (!curve.date.empty()) out << "date" << curve.date;
  out << "source" << YAML::DoubleQuoted << curve.source << "times" << YAML::Flow << YAML::BeginSeq;
  for (const MeasuredCurve::Point& point : curve.points) {
    out << YAML::Flow << YAML::BeginSeq << print_quantity(point.message) << microseconds(point.time);
    if (!point.algorithm.empty()) out << point.algorithm;
    out << YAML::EndSeq;
  }
  out << YAML::EndSeq << YAML::EndMap;
}

std::string read_algorithm(const YamlNode& node) {
  const std::string text = node.text();
  const auto algorithm = parse_nccl_algorithm(text);
  if (!algorithm) node.fail(fmt::format("{} is not an algorithm of NCCL", quote(text)), "use for example Ring LL128");
  return *algorithm;
}

std::vector<MeasuredCurve::Point> read_points(const YamlNode& node) {
  std::vector<MeasuredCurve::Point> points;
  for (const YamlNode& item : node.items()) {
    const std::vector<YamlNode> pair = item.items();
    if (pair.size() != 2 && pair.size() != 3) {
      item.fail(fmt::format("expected 2 items, or 3 with the algorithm, found {}", pair.size()), "write [1 MiB, 24.1 us]");
    }
    MeasuredCurve::Point point{pair[0].bytes(), pair[1].seconds(), {}};
    if (pair.size() == 3) point.algorithm = read_algorithm(pair[2]);
    if (!points.empty() && point.message <= points.back().message) {
      pair[0].fail("this size is not larger than the previous one", "write sizes in ascending order");
    }
    points.push_back(point);
  }
  if (points.empty()) node.fail("there are no sizes", "use for example [[1 MiB, 24.1 us]]");
  return points;
}

MeasuredCurve read_entry(const YamlNode& node) {
  if (node.find("alpha") || node.find("bandwidth")) {
    node.fail("links were fitted by an earlier version: measured times are stored instead now",
              "run `ddl-oracle calibrate network` on the benchmarks' output again");
  }
  node.only_keys({"operation", "ranks", "nodes", "window", "both_ways", "spread", "tool", "date", "source", "times"});
  MeasuredCurve curve;
  const YamlNode operation = node.at("operation");
  if (const auto parsed = parse_operation(operation.text())) {
    curve.operation = *parsed;
  } else {
    operation.fail(fmt::format("unknown operation {}", quote(operation.text())),
                   suggest(operation.text(), operation_names()));
  }
  curve.ranks = static_cast<int>(node.at("ranks").integer(2, most_exchange_ranks));
  const YamlNode nodes = node.at("nodes");
  curve.nodes = static_cast<int>(nodes.integer(1, most_exchange_ranks));
  if (curve.nodes > curve.ranks) {
    nodes.fail(fmt::format("{} nodes exceed the {} ranks", curve.nodes, curve.ranks),
               "ranks are processes, or GPUs, of all nodes together");
  }
  if (const auto window = node.find("window")) curve.window = window->number(1, most_window);
  if (const auto both_ways = node.find("both_ways")) curve.both_ways = both_ways->boolean();
  if (const auto spread = node.find("spread")) curve.spread = spread->number(1, most_spread);
  if (const auto tool = node.find("tool")) curve.tool = tool->text();
  if (const auto date = node.find("date")) curve.date = read_day(*date);
  curve.source = node.at("source").text();
  curve.points = read_points(node.at("times"));
  return curve;
}

bool same_subject(const MeasuredCurve& a, const MeasuredCurve& b) {
  return a.operation == b.operation && a.ranks == b.ranks && a.nodes == b.nodes && a.window == b.window &&
         a.both_ways == b.both_ways;
}

}  // namespace

std::vector<MeasuredCurve> read_measured_network(const YamlNode& section) {
  std::vector<MeasuredCurve> network;
  for (const YamlNode& item : section.items()) {
    MeasuredCurve curve = read_entry(item);
    if (std::any_of(network.begin(), network.end(),
                    [&](const MeasuredCurve& known) { return same_subject(known, curve); })) {
      item.fail(fmt::format("duplicate entry for {} among {} ranks on {} nodes", to_string(curve.operation), curve.ranks,
                            curve.nodes),
                "keep one of the two");
    }
    network.push_back(std::move(curve));
  }
  return network;
}

std::string print_measured_network(std::span<const MeasuredCurve> network) {
  YAML::Emitter out;
  out << YAML::BeginMap << "communication";
  if (network.empty()) out << YAML::Flow;
  out << YAML::BeginSeq;
  for (const MeasuredCurve& curve : network) write_entry(out, curve);
  out << YAML::EndSeq << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

std::string with_network_section(const std::string& file, std::span<const MeasuredCurve> network) {
  return replace_section(file, {"communication"}, print_measured_network(network));
}

}  // namespace ddl
