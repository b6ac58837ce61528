#include "calibration/runs/time_errors_file.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/files/bundled_files.hpp"
#include "core/error.hpp"
#include "core/file_format.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/yaml_node.hpp"

namespace ddl {
namespace {

constexpr double most_width = 10;  ///< maximum width, as ln of a factor
constexpr double most_own = 100;   ///< maximum of TimeErrors::own_of_plan

ErrorWidth read_width(const YamlNode& node) {
  node.only_keys({"faster", "slower"});
  return {node.at("faster").number(0, most_width), node.at("slower").number(0, most_width)};
}

ModelClass chosen_class(const YamlNode& node) {
  const std::optional<ModelClass> found = enum_named(model_class_names, node.text());
  if (!found)
    node.fail(fmt::format("unknown class of models {}", quote(node.text())), suggest(node.text(), model_class_names));
  return *found;
}

PrecisionClass chosen_precision(const YamlNode& node) {
  const std::optional<PrecisionClass> found = enum_named(precision_class_names, node.text());
  if (!found)
    node.fail(fmt::format("unknown class of precisions {}", quote(node.text())),
              suggest(node.text(), precision_class_names));
  return *found;
}

void read_widths(const YamlNode& node, std::span<const std::string_view> names, std::span<ErrorWidth> widths) {
  node.only_keys(names);
  for (std::size_t i = 0; i < names.size(); ++i) widths[i] = read_width(node.at(names[i]));
}

void print_widths(std::string& text, std::string_view key, std::span<const std::string_view> names,
                  std::span<const ErrorWidth> widths) {
  text += fmt::format("{}:\n", key);
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("  {}: {{faster: {:.3g}, slower: {:.3g}}}\n", names[i], widths[i].faster, widths[i].slower);
}

void read_traits(const YamlNode& node, TimeErrors& errors) {
  node.only_keys({"usual", "spread", "measured"});
  errors.usual_error = node.at("usual").number(-most_width, most_width);
  const YamlNode spread = node.at("spread"), measured = node.at("measured");
  spread.only_keys(run_trait_names);
  measured.only_keys(run_trait_names);
  for (std::size_t i = 0; i < run_trait_names.size(); ++i) {
    TraitErrors& trait = errors.traits[i];
    trait.spread = spread.at(run_trait_names[i]).number(0, most_width);
    for (const YamlNode& each : measured.at(run_trait_names[i]).items()) {
      each.only_keys({"name", "mean", "spread"});
      trait.measured.push_back({each.at("name").text(), each.at("mean").number(-most_width, most_width),
                                each.at("spread").number(0, most_width)});
    }
    std::sort(trait.measured.begin(), trait.measured.end(),
              [](const TraitError& a, const TraitError& b) { return a.name < b.name; });
  }
}

std::string print_traits(const TimeErrors& errors) {
  std::string text = fmt::format("publications:\n  usual: {:.3f}\n  spread: {{", errors.usual_error);
  for (std::size_t i = 0; i < run_trait_names.size(); ++i)
    text += fmt::format("{}{}: {:.3f}", i == 0 ? "" : ", ", run_trait_names[i], errors.traits[i].spread);
  text += "}\n  measured:\n";
  for (std::size_t i = 0; i < run_trait_names.size(); ++i) {
    text += fmt::format("    {}:{}\n", run_trait_names[i], errors.traits[i].measured.empty() ? " []" : "");
    for (const TraitError& each : errors.traits[i].measured)
      text += fmt::format("      - {{name: \"{}\", mean: {:.3f}, spread: {:.3f}}}\n", each.name, each.mean, each.spread);
  }
  return text;
}

void read_groups(const YamlNode& node, TimeErrorsFile& file) {
  const std::vector<std::string_view> names(held_out_names.begin() + 1, held_out_names.end());
  node.only_keys(names);
  for (const HeldOut by : enum_values<HeldOut>) {
    const auto groups = node.find(held_out_names[by]);
    if (!groups) continue;
    for (const YamlNode& each : groups->items()) {
      each.only_keys({"name", "runs", "held", "low", "high"});
      file.groups[by].push_back({each.at("name").text(),
                                 static_cast<int>(each.at("runs").integer(1, std::numeric_limits<int>::max())),
                                 each.at("held").number(0, 1),
                                 {each.at("low").number(0, 1), each.at("high").number(1)}});
    }
  }
}

std::string print_groups(const TimeErrorsFile& file) {
  std::string text;
  for (const HeldOut by : enum_values<HeldOut>) {
    if (file.groups[by].empty()) continue;
    text += fmt::format("{}  {}:\n", text.empty() ? "held_out:\n" : "", held_out_names[by]);
    for (const GroupCoverage& each : file.groups[by]) {
      text += fmt::format("    - {{name: \"{}\", runs: {}, held: {:.3f}, low: {:.3f}, high: {:.3f}}}\n", each.name,
                          each.runs, each.held, each.mean.low, each.mean.high);
    }
  }
  return text;
}

/// Reads the additional widths for software without measured runs, for devices of other makers without measured runs, and
/// for steps that read samples.
void read_unmeasured(const YamlNode& root, TimeErrorsFile& file) {
  TimeErrors& errors = file.errors;
  const YamlNode without = root.at("software_without_runs");
  without.only_keys({"faster", "slower", "predictions", "held"});
  errors.new_software = {without.at("faster").number(0, most_width), without.at("slower").number(0, most_width)};
  file.stand_ins = static_cast<int>(without.at("predictions").integer(0, std::numeric_limits<int>::max()));
  file.stand_ins_held = without.at("held").number(0, 1);
  const YamlNode foreign = root.at("foreign_devices_without_runs");
  foreign.only_keys({"faster", "slower", "held", "makers"});
  errors.new_foreign_device = {foreign.at("faster").number(0, most_width), foreign.at("slower").number(0, most_width)};
  file.foreign_held = foreign.at("held").number(0, 1);
  const YamlNode reading = root.at("reading_samples");
  reading.only_keys({"faster", "slower", "runs", "held"});
  errors.reading_samples = {reading.at("faster").number(0, most_width), reading.at("slower").number(0, most_width)};
  file.reading_runs = static_cast<int>(reading.at("runs").integer(0, std::numeric_limits<int>::max()));
  file.reading_held = reading.at("held").number(0, 1);
  for (const YamlNode& maker : foreign.at("makers").items()) errors.makers.push_back(maker.text());
}

/// Reads how many measured ratios and times the intervals covered.
void read_checks(const YamlNode& root, TimeErrorsFile& file) {
  constexpr int most_runs = std::numeric_limits<int>::max();
  if (const auto ratios = root.find("ratios")) {
    ratios->only_keys({"pairs", "held", "told_apart", "right", "width", "width_of_one"});
    file.ratios = {static_cast<int>(ratios->at("pairs").integer(0, most_runs)),
                   ratios->at("held").number(0, 1),
                   static_cast<int>(ratios->at("told_apart").integer(0, most_runs)),
                   ratios->at("right").number(0, 1),
                   ratios->at("width").number(0, most_width),
                   ratios->at("width_of_one").number(0, most_width)};
  }
  if (const auto learned = root.find("learned")) {
    learned->only_keys({"runs", "held"});
    file.learned_runs = static_cast<int>(learned->at("runs").integer(0, most_runs));
    file.learned_held = learned->at("held").number(0, 1);
  }
  if (const auto beyond = root.find("learned_beyond")) {
    beyond->only_keys({"runs", "held"});
    file.beyond_runs = static_cast<int>(beyond->at("runs").integer(0, most_runs));
    file.beyond_held = beyond->at("held").number(0, 1);
  }
}

}  // namespace

TimeErrorsFile parse_time_errors(const std::string& text, const std::string& origin) {
  const YamlNode root = YamlNode::parse(text, origin);
  check_format(root);
  root.only_keys({"format",
                  "source",
                  "widths",
                  "kernels_rest_on",
                  "exchanges_rest_on",
                  "unexplained",
                  "publications",
                  "kinds_together",
                  "measured_software",
                  "software_without_runs",
                  "own_of_plan",
                  "learned_scatter",
                  "learned_growth",
                  "widened",
                  "ratios",
                  "learned",
                  "learned_beyond",
                  "coverage",
                  "held_out",
                  "evidence",
                  "foreign_devices_without_runs",
                  "reading_samples"});
  TimeErrorsFile file;
  file.source = root.at("source").text();
  TimeErrors& errors = file.errors;
  read_widths(root.at("widths"), error_source_names, errors.sources);
  read_widths(root.at("kernels_rest_on"), time_basis_names, errors.kernel_bases);
  read_widths(root.at("exchanges_rest_on"), time_basis_names, errors.exchange_bases);
  read_widths(root.at("unexplained"), model_class_names, errors.classes);
  read_traits(root.at("publications"), errors);
  const YamlNode measured = root.at("measured_software");
  measured.only_keys(model_class_names);
  for (std::size_t i = 0; i < model_class_names.size(); ++i) {
    for (const YamlNode& name : measured.at(model_class_names[i]).items())
      errors.measured_software[i].push_back(name.text());
    std::sort(errors.measured_software[i].begin(), errors.measured_software[i].end());
  }
  read_unmeasured(root, file);
  errors.kinds_together = root.at("kinds_together").number(0, 1);
  errors.own_of_plan = root.at("own_of_plan").number(0, most_own);
  errors.learned_scatter = root.at("learned_scatter").number(0, most_width);
  errors.learned_growth = root.at("learned_growth").number(0, most_width);
  constexpr int most_runs = std::numeric_limits<int>::max();
  if (const auto widened = root.find("widened")) file.widened = widened->number(0, 100);
  read_checks(root, file);
  if (const auto coverage = root.find("coverage")) {
    for (const YamlNode& node : coverage->items()) {
      node.only_keys({"set", "runs", "held", "held_left_out", "low", "high"});
      file.coverage.push_back({node.at("set").name(), static_cast<int>(node.at("runs").integer(1, most_runs)),
                               node.at("held").number(0, 1), node.at("held_left_out").number(0, 1),
                               TimeInterval{node.at("low").number(0, 1), node.at("high").number(1)}});
    }
  }
  if (const auto groups = root.find("held_out")) read_groups(*groups, file);
  if (const auto evidence = root.find("evidence")) {
    for (const YamlNode& node : evidence->items()) {
      node.only_keys({"class", "precision", "software", "device", "runs", "error"});
      file.evidence.push_back({chosen_class(node.at("class")), chosen_precision(node.at("precision")),
                               node.at("software").text(), node.at("device").text(),
                               static_cast<int>(node.at("runs").integer(1, most_runs)), node.at("error").number(0)});
    }
  }
  return file;
}

std::string print_time_errors(const TimeErrorsFile& file) {
  std::string text = fmt::format(
      "# ln of the factor that covers nine of ten measured times, for a step that depends on one source alone\n"
      "format: 1\nsource: \"{}\"\n",
      file.source);
  const TimeErrors& errors = file.errors;
  print_widths(text, "widths", error_source_names, errors.sources);
  print_widths(text, "kernels_rest_on", time_basis_names, errors.kernel_bases);
  print_widths(text, "exchanges_rest_on", time_basis_names, errors.exchange_bases);
  print_widths(text, "unexplained", model_class_names, errors.classes);
  text += print_traits(errors);
  text += "measured_software:\n";
  for (std::size_t i = 0; i < model_class_names.size(); ++i) {
    std::vector<std::string> quoted;
    for (const std::string& name : errors.measured_software[i]) quoted.push_back(fmt::format("\"{}\"", name));
    text += fmt::format("  {}: [{}]\n", model_class_names[i], fmt::join(quoted, ", "));
  }
  text += fmt::format("software_without_runs: {{faster: {:.3g}, slower: {:.3g}, predictions: {}, held: {:.3f}}}\n",
                      errors.new_software.faster, errors.new_software.slower, file.stand_ins, file.stand_ins_held);
  text += fmt::format("foreign_devices_without_runs: {{faster: {:.3g}, slower: {:.3g}, held: {:.3f}, makers: [{}]}}\n",
                      errors.new_foreign_device.faster, errors.new_foreign_device.slower, file.foreign_held,
                      fmt::join(errors.makers, ", "));
  text += fmt::format("reading_samples: {{faster: {:.3g}, slower: {:.3g}, runs: {}, held: {:.3f}}}\n",
                      errors.reading_samples.faster, errors.reading_samples.slower, file.reading_runs, file.reading_held);
  text += fmt::format("kinds_together: {:.3g}\nown_of_plan: {:.3g}\nlearned_scatter: {:.3g}\nlearned_growth: {:.3g}\n",
                      errors.kinds_together, errors.own_of_plan, errors.learned_scatter, errors.learned_growth);
  text += fmt::format(
      "widened: {:.3g}\nratios: {{pairs: {}, held: {:.3f}, told_apart: {}, right: {:.3f}, width: {:.3f}, width_of_one: "
      "{:.3f}}}\n"
      "learned: {{runs: {}, held: {:.3f}}}\nlearned_beyond: {{runs: {}, held: {:.3f}}}\n",
      file.widened, file.ratios.pairs, file.ratios.held, file.ratios.told_apart, file.ratios.right, file.ratios.mean_width,
      file.ratios.mean_single, file.learned_runs, file.learned_held, file.beyond_runs, file.beyond_held);
  if (!file.coverage.empty()) text += "coverage:\n";
  for (const SetCoverage& set : file.coverage) {
    text += fmt::format("  - {{set: {}, runs: {}, held: {:.3f}, held_left_out: {:.3f}, low: {:.3f}, high: {:.3f}}}\n",
                        set.set, set.runs, set.held, set.held_left_out, set.mean.low, set.mean.high);
  }
  text += print_groups(file);
  if (!file.evidence.empty()) text += "evidence:\n";
  for (const Evidence& each : file.evidence) {
    text += fmt::format("  - {{class: {}, precision: {}, software: \"{}\", device: \"{}\", runs: {}, error: {:.3f}}}\n",
                        model_class_names[each.model_class], precision_class_names[each.precision], each.software,
                        each.device, each.runs, each.error);
  }
  return text;
}

const TimeErrorsFile& bundled_time_errors_file() {
  static const TimeErrorsFile bundled = [] {
    for (const EmbeddedFile& file : uncertainty_files()) {
      if (file.name == "steps") return parse_time_errors(std::string(file.content), std::string(file.path));
    }
    throw Error("the program has no bundled file of time errors");
  }();
  return bundled;
}

const TimeErrors& bundled_time_errors() { return bundled_time_errors_file().errors; }

}  // namespace ddl
