#include "calibration/network/fits/contention_section.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include "core/yaml_section.hpp"

namespace ddl {

std::vector<MeasuredContention> measured_contention(std::span<const ContentionPoint> points, const Machine& machine,
                                                    const std::string& source) {
  std::vector<MeasuredContention> measured;
  if (machine.levels.size() < 2) return measured;
  const LinkLevel& between = machine.levels[1];
  for (const ContentionPoint& point : points) {
    measured.push_back(
        {.level = between.name, .groups = static_cast<double>(point.groups), .phi = point.slowdown, .source = source});
  }
  return measured;
}

std::string with_contention_section(const std::string& file, std::span<const MeasuredContention> before,
                                    std::span<const MeasuredContention> measured) {
  std::vector<MeasuredContention> all;
  for (const MeasuredContention& one : before) {
    const bool measured_again = std::any_of(measured.begin(), measured.end(),
                                            [&](const MeasuredContention& other) { return other.level == one.level; });
    if (!measured_again) all.push_back(one);
  }
  all.insert(all.end(), measured.begin(), measured.end());
  YAML::Emitter out;
  out << YAML::BeginMap << "contention" << YAML::BeginSeq;
  for (const MeasuredContention& one : all) {
    out << YAML::Flow << YAML::BeginMap << "level" << YAML::DoubleQuoted << one.level << "groups"
        << fmt::format("{}", one.groups) << "phi" << fmt::format("{}", one.phi) << "source" << YAML::BeginMap << "citation"
        << YAML::DoubleQuoted << one.source << YAML::EndMap << YAML::EndMap;
  }
  out << YAML::EndSeq << YAML::EndMap;
  return replace_section(file, {"contention"}, out.c_str());
}

std::string with_congestion_section(const std::string& file, std::span<const Congestion> before,
                                    const Congestion& measured) {
  std::vector<Congestion> all{measured};
  for (const Congestion& one : before) {
    if (one.level != measured.level) all.push_back(one);
  }
  YAML::Emitter out;
  out << YAML::BeginMap << "congestion" << YAML::BeginSeq;
  for (const Congestion& one : all) {
    out << YAML::Flow << YAML::BeginMap << "level" << YAML::DoubleQuoted << one.level << "median"
        << fmt::format("{:.5g}", one.median) << "spread" << fmt::format("{:.5g}", one.spread) << "source" << YAML::BeginMap
        << "citation" << YAML::DoubleQuoted << one.source << YAML::EndMap << YAML::EndMap;
  }
  out << YAML::EndSeq << YAML::EndMap;
  return replace_section(file, {"congestion"}, out.c_str());
}

}  // namespace ddl
