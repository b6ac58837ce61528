#include "calibration/inputs/setting_values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

#include "calibration/files/launch_overhead.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/units.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

constexpr const char* percentile_hint = "use for example p95: only one of 20 repetitions takes longer";

std::string percentile_problem(std::string_view text) { return fmt::format("{} is not from p50 to p99.9", quote(text)); }

std::optional<double> place_of(const SettingRow& row, std::string_view name) {
  const auto found = std::find(row.names.begin(), row.names.end(), name);
  if (found == row.names.end()) return std::nullopt;
  return static_cast<double>(found - row.names.begin());
}

/// `value`: the number in `text`, if the setting does not allow this number.
[[noreturn]] void refuse_number(const SettingRow& row, const std::string& text, const std::string& name, double usual,
                                std::optional<double> value) {
  const double example = std::clamp(usual, row.least, row.most);
  const bool is_beyond = value && (*value < row.least || *value > row.most);
  throw Error(fmt::format("{} is {}, which is not a {} from {} to {}", name, quote(text),
                          row.kind == SettingKind::whole_number ? "whole number" : "number", row.least, row.most),
              is_beyond && *value < row.least ? fmt::format("write {} {}{} or more", name, row.least, row.unit)
              : is_beyond                     ? fmt::format("write {} {}{} or less", name, row.most, row.unit)
              : row.unit.empty()              ? fmt::format("use digits, as in {} {}", name, example)
                                 : fmt::format("use {0}, as in {1} {2} or {1} {2}{0}", row.unit, name, example));
}

double number_in(const SettingRow& row, const std::string& text, const std::string& name) {
  const bool is_whole = row.kind == SettingKind::whole_number;
  std::string_view digits = text;
  if (!row.unit.empty() && digits.ends_with(row.unit)) digits.remove_suffix(row.unit.size());
  while (digits.size() < text.size() && digits.ends_with(' ')) digits.remove_suffix(1);
  const std::optional<double> value = ddl::number_in<double>(digits);
  // This form of the condition also refuses NaN.
  const bool within = value && *value >= row.least && *value <= row.most;
  const bool written_whole = text.find_first_not_of("0123456789") == std::string::npos;
  if (!within || (is_whole && !written_whole))
    refuse_number(row, text, name, is_whole ? 64 : row.unit.empty() ? 0.5 : 300, value);
  return *value;
}

Plausible<Seconds> times_of(const SettingRow& row) {
  return {"a time", Seconds(std::max(row.least, 1e-9)), Seconds(row.most)};
}

Plausible<Bandwidth> bandwidths_of(const SettingRow& row) {
  return {"a bandwidth", Bandwidth(row.least), Bandwidth(row.most)};
}

/// Parses a quantity with its unit. `example`: a usual value of the quantity, for the hint.
template <class Q>
double quantity_in(const Plausible<Q>& range, bool allow_zero, const std::string& text, const std::string& name,
                   std::string_view example) {
  UnitProblem problem;
  const std::optional<Q> value = parse_plausible(text, range, problem);
  const std::string hint = fmt::format("use for example '{}'", example);
  // The hint of the parser may contain a value that is unusual for this quantity.
  const bool has_example = problem.hint.empty() || problem.hint.starts_with("use for example");
  if (!value) throw Error(fmt::format("{}: {}", name, problem.message), has_example ? hint : problem.hint);
  if (!allow_zero && value->value() == 0)
    throw Error(fmt::format("{}: {} must be greater than zero", name, quote(text)), hint);
  return value->value();
}

}  // namespace

std::optional<double> parse_percentile(std::string_view text) {
  const SettingRow& row = *find_setting("congestion");
  double percent = 0;
  const char* const end = text.data() + text.size();
  const bool begins_well = text.size() > 1 && text.front() == 'p';
  const auto [stop, problem] = std::from_chars(text.data() + (begins_well ? 1 : 0), end, percent);
  const bool is_share = percent >= row.least && percent <= row.most;
  if (!begins_well || problem != std::errc{} || stop != end || !is_share) return std::nullopt;
  return percent;
}

double read_setting(const SettingRow& row, const YamlNode& node) {
  switch (row.kind) {
    case SettingKind::flag:
      return node.boolean() ? 1 : 0;
    case SettingKind::number:
      return node.number(row.least, row.most);
    case SettingKind::whole_number:
      return static_cast<double>(node.integer(std::llround(row.least), std::llround(row.most)));
    case SettingKind::duration:
      return read_launch_overhead(node).value();
    case SettingKind::bytes:
      return node.bytes(true).value();
    case SettingKind::time:
      return node.seconds(row.least == 0, times_of(row)).value();
    case SettingKind::bandwidth:
      return node.bandwidth(bandwidths_of(row)).value();
    case SettingKind::percentile:
      if (const auto percent = parse_percentile(node.text())) return *percent;
      node.fail(percentile_problem(node.text()), percentile_hint);
    case SettingKind::name:
      break;
  }
  const std::string text = node.text();
  if (const auto place = place_of(row, text)) return *place;
  node.fail(fmt::format("{} is not a valid {}", quote(text), row.key), suggest(text, row.names));
}

double parse_setting(const SettingRow& row, const std::string& text, const std::string& name) {
  switch (row.kind) {
    case SettingKind::number:
    case SettingKind::whole_number:
      return number_in(row, text, name);
    case SettingKind::percentile:
      if (const auto percent = parse_percentile(text)) return *percent;
      throw Error(fmt::format("{}: {}", name, percentile_problem(text)), percentile_hint);
    case SettingKind::flag:
      if (text == "yes" || text == "no") return text == "yes" ? 1 : 0;
      throw Error(fmt::format("{} is {}, which is neither yes nor no", name, quote(text)), "use yes or no");
    case SettingKind::duration:
      return quantity_in<Seconds>({"a time", Seconds(1e-12), longest_launch_overhead}, true, text, name, "20 us");
    case SettingKind::time:
      return quantity_in(times_of(row), row.least == 0, text, name, "10 min' or '5 years");
    case SettingKind::bandwidth:
      return quantity_in(bandwidths_of(row), false, text, name, "100 GB/s");
    case SettingKind::bytes:
      return quantity_in(plausible_size, true, text, name, "25 MiB");
    case SettingKind::name:
      break;
  }
  if (const auto place = place_of(row, text)) return *place;
  throw Error(fmt::format("{} does not support {}", name, quote(text)), suggest(text, row.names));
}

std::string print_setting(const SettingRow& row, double value) {
  switch (row.kind) {
    case SettingKind::flag:
      return value != 0 ? "yes" : "no";
    case SettingKind::number:
    case SettingKind::whole_number:
      return fmt::format("{}", value);
    case SettingKind::duration:
    case SettingKind::time:
      return print_quantity(Seconds(value));
    case SettingKind::bandwidth:
      return print_quantity(Bandwidth(value));
    case SettingKind::bytes:
      return print_quantity(Bytes(value));
    case SettingKind::percentile:
      return fmt::format("p{}", value);
    case SettingKind::name:
      break;
  }
  return std::string(row.names[static_cast<std::size_t>(value)]);
}

std::vector<YamlNode::FormerKey> former_settings() {
  std::vector<YamlNode::FormerKey> keys;
  for (const SettingRow& row : setting_rows()) {
    if (!row.former.empty()) keys.push_back({row.former, row.key});
  }
  return keys;
}

const SettingRow& setting_named(const std::string& key) {
  if (const SettingRow* const row = find_setting(key)) return *row;
  const auto all = setting_keys([](const SettingRow&) { return true; });
  throw Error(fmt::format("unknown setting {}", quote(key)), suggest(key, all));
}

Settings parse_settings(const std::string& text, SettingOrigin origin) {
  Settings settings;
  std::istringstream words(text);
  std::string last;  // a quantity may contain a space: `launch_overhead=1.5 us`
  const auto add = [&] {
    if (last.empty()) return;
    const std::size_t equals = last.find('=');
    const SettingRow& row = setting_named(last.substr(0, equals));
    settings.set(row, {parse_setting(row, last.substr(equals + 1), std::string(row.key)), origin, {}});
  };
  for (std::string word; words >> word;) {
    if (word.find('=') == std::string::npos) {
      if (last.empty()) throw Error(fmt::format("{} is not a setting", quote(word)), "write key=value, separated by spaces");
      last += " " + word;
      continue;
    }
    add();
    last = word;
  }
  add();
  if (text.find_first_not_of(' ') == std::string::npos && !text.empty())
    throw Error(fmt::format("{} is not a setting", quote(text)), "write key=value, separated by spaces");
  return settings;
}

std::string print_settings(const Settings& settings) {
  std::string text;
  settings.for_each([&](const SettingRow& row, const SettingValue& value) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", row.key, print_setting(row, value.value));
  });
  return text;
}

const SettingRow* lacking_setting(const Settings& settings) {
  const auto name_of = [&](std::string_view key) {
    const SettingValue* const chosen = settings.find(key);
    return chosen != nullptr ? print_setting(*find_setting(key), chosen->value) : std::string();
  };
  // Without a barrier, workers also exchange with parameter servers.
  const bool has_servers = name_of("synchronization") == "async" || name_of("synchronization") == "stale";
  const SettingRow* lacking = nullptr;
  settings.for_each([&](const SettingRow& row, const SettingValue&) {
    if (row.only_with.empty() || row.only_with == name_of(row.only_with_key)) return;
    if (has_servers && row.key == "parameter_servers") return;
    lacking = &row;
  });
  return lacking;
}

}  // namespace ddl
