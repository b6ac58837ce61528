#include "calibration/communication/contention_section.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "calibration/communication/file_section.hpp"

namespace ddl {

std::vector<MeasuredContention> measured_contention(std::span<const ContentionPoint> points, const Machine& machine,
                                                    const std::string& source) {
  std::vector<MeasuredContention> measured;
  if (machine.levels.size() < 2) return measured;
  const LinkLevel& between = machine.levels[1];
  for (const ContentionPoint& point : points) {
    measured.push_back({.level = between.name,
                        .groups = static_cast<double>(point.groups),
                        .phi = point.slowdown / between.rails,
                        .source = source});
  }
  return measured;
}

std::string with_contention_section(std::string_view file, std::span<const MeasuredContention> before,
                                    std::span<const MeasuredContention> measured) {
  std::vector<MeasuredContention> all;
  for (const MeasuredContention& one : before) {
    const bool measured_again = std::any_of(measured.begin(), measured.end(),
                                            [&](const MeasuredContention& other) { return other.level == one.level; });
    if (!measured_again) all.push_back(one);
  }
  all.insert(all.end(), measured.begin(), measured.end());
  std::string section = "contention:\n";
  for (const MeasuredContention& one : all) {
    section += fmt::format("  - {{level: {}, groups: {}, phi: {}, source: {{citation: {}}}}}\n", yaml_quoted(one.level),
                           one.groups, one.phi, yaml_quoted(one.source));
  }
  return with_section(file, "contention:", section);
}

}  // namespace ddl
