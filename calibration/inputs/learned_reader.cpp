#include "calibration/inputs/learned_reader.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/source_text.hpp"

namespace ddl {
namespace {

/// Factors outside of this range are probably typing errors.
constexpr double least_factor = 1e-6;
constexpr double greatest_factor = 1e6;

double read_value(const YamlNode& entry, CoefficientUnit unit) {
  entry.only_keys({"value", "low", "high", "determined"});
  // The key `determined` is information for people. Predictions use only the value.
  if (const auto determined = entry.find("determined")) static_cast<void>(determined->boolean());
  const auto number = [&](const YamlNode& node) {
    switch (unit) {
      case CoefficientUnit::seconds_per_byte:
        return node.seconds(true).value() / 1e9;  // the file gives the time of a gigabyte
      case CoefficientUnit::seconds:
        return node.seconds(true).value();
      case CoefficientUnit::fraction:
        return node.number(0, 1);
      case CoefficientUnit::number:
        return node.number(0, greatest_factor);
      case CoefficientUnit::factor:
        break;
    }
    return node.number(least_factor, greatest_factor);
  };
  for (const std::string_view bound : {"low", "high"}) {
    if (const auto node = entry.find(bound)) static_cast<void>(number(*node));
  }
  return number(entry.at("value"));
}

}  // namespace

LearnedFamilies read_learned(const YamlNode& section, const Citations& citations) {
  LearnedFamilies families;
  std::vector<std::string_view> keys{"family", "runs", "misfit", "most_gpus", "source"};
  std::vector<YamlNode::FormerKey> former;
  for (const CoefficientRow& row : coefficient_table) {
    if (!row.by_family) continue;
    keys.push_back(row.name);
    if (!row.former.empty()) former.push_back({row.former, row.name});
  }
  for (const YamlNode& node : section.items()) {
    node.only_keys(keys, former);
    const YamlNode name = node.at("family");
    const auto family = parse_family(name.text());
    if (!family || *family == 0) {
      name.fail(fmt::format("{} is not a family of plans", quote(name.text())), "use for example data, or data+filter");
    }
    if (std::any_of(families.begin(), families.end(), [&](const auto& known) { return known.first == *family; })) {
      name.fail(fmt::format("duplicate key {}", quote(name.text())), "remove one of them");
    }
    static_cast<void>(node.at("runs").integer(1, std::numeric_limits<int>::max()));
    static_cast<void>(citations.of(node.at("source")));
    Learned learned;
    for (const CoefficientRow& row : coefficient_table) {
      if (!row.by_family) continue;
      if (const auto entry = node.find(row.name, row.former)) learned[row.coefficient] = read_value(*entry, row.unit);
    }
    families.emplace_back(*family, learned);
  }
  return families;
}

std::vector<std::pair<Family, LearnedRuns>> read_learned_runs(const YamlNode& section) {
  std::vector<std::pair<Family, LearnedRuns>> runs;
  for (const YamlNode& node : section.items()) {
    const auto family = parse_family(node.at("family").text());
    const auto misfit = node.find("misfit");
    if (!family || !misfit) continue;
    const auto count = static_cast<int>(node.at("runs").integer(1, std::numeric_limits<int>::max()));
    const auto most = node.find("most_gpus");
    const auto most_devices = most ? static_cast<int>(most->integer(1, std::numeric_limits<int>::max())) : 0;
    runs.emplace_back(*family, LearnedRuns{count, misfit->number(0, greatest_factor), most_devices});
  }
  return runs;
}

}  // namespace ddl
