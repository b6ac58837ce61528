#include "cli/tools/config_text.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/words.hpp"

namespace ddl {
namespace {

using Json = ConfigText::Json;

/// Converts a text to a JSON number or flag if the tool reads the text as a number or flag; else to a JSON string.
Json literal(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (const auto whole = number_in(text)) return *whole;
  if (const auto number = number_in<double>(text)) return *number;
  return text;
}

/// Converts names that are separated by spaces to a JSON list.
Json list_of(const std::string& text) {
  Json list = Json::array();
  for (const std::string_view word : split(text, " ")) list.push_back(word);
  return list;
}

bool is_set_of_names(RunField field) { return field.choice() && !row_of(*field.choice()).parts.empty(); }

/// Formats a scalar for YAML or TOML. `has_quotes`: texts get quotes, as TOML requires.
std::string scalar(const Json& value, bool has_quotes) {
  return value.is_string() && !has_quotes ? value.get<std::string>() : value.dump();
}
std::string value_text(const Json& value, bool has_quotes) {
  if (!value.is_array()) return scalar(value, has_quotes);
  std::vector<std::string> items;
  for (const Json& item : value) items.push_back(scalar(item, has_quotes));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

void add_yaml(std::string& text, const Json& node, std::size_t depth) {
  const std::string indent(2 * depth, ' ');
  for (const auto& [key, value] : node.items()) {
    if (key.starts_with('#')) {
      text += fmt::format("{}{}\n", indent, key);
    } else if (value.is_object()) {
      text += fmt::format("{}{}:\n", indent, key);
      add_yaml(text, value, depth + 1);
    } else {
      text += fmt::format("{}{}: {}\n", indent, key, value_text(value, false));
    }
  }
}

/// Adds a section of TOML, and then the sections in it.
void add_toml(std::string& text, const std::string& section, const Json& arguments) {
  std::string values;
  for (const auto& [key, value] : arguments.items()) {
    if (!value.is_object())
      values += key.starts_with('#') ? key + "\n" : fmt::format("{} = {}\n", key, value_text(value, true));
  }
  if (!values.empty()) text += fmt::format("\n[{}]\n{}", section, values);
  for (const auto& [key, value] : arguments.items()) {
    if (value.is_object()) add_toml(text, fmt::format("{}.{}", section, key), value);
  }
}

bool is_written_by(const ArgumentRow& row, const RunValues& values) {
  return !row.is_only_read && (row.only_with.empty() || values.is(ConfigField::distributed_type, row.only_with));
}

/// Returns whether this program writes the field in configurations of this format.
bool is_written(const ConfigurationFormat& format, RunField field, const RunValues& values) {
  return std::ranges::any_of(format.rows, [&](const ArgumentRow& row) {
    return row.field == field && is_written_by(row, values) && said_by(format, row, values).has_value();
  });
}

/// Returns whether the field only gives a part of another field's value, and the other field is written.
bool is_redundant(const ConfigurationFormat& format, RunField field, const RunValues& values) {
  const auto says_it = [&](const StandIn& each) {
    return each.by == field && !each.is_added && is_written(format, each.of, values);
  };
  return std::any_of(stand_ins().begin(), stand_ins().end(), says_it);
}

bool is_missing(const ConfigurationFormat& format, RunField field, const RunValues& values) {
  const std::optional<std::string>& value = values[field];
  if (!value || is_stand_in(field) || *value == usual_value(format, field, values) || is_written(format, field, values))
    return false;
  // The number of micro-batches needs no argument, because it follows from the samples of a micro-batch.
  if (field == ConfigField::accumulation || field == ConfigField::micro_batches) return false;
  return std::none_of(stand_ins().begin(), stand_ins().end(),
                      [&](const StandIn& each) { return each.of == field && is_written(format, each.by, values); });
}

std::optional<CannotLaunch> missing_value(const ConfigurationFormat& format, const RunValues& values) {
  for (std::size_t i = 0; i < RunField::count; ++i) {
    const RunField field = RunField::numbered(i);
    if (!is_missing(format, field, values)) continue;
    for (const MissingValue& each : format.missing) {
      if (each.field == field) return CannotLaunch{std::string(each.reason)};
    }
    const std::string name = name_of(field);
    if (name.empty()) return CannotLaunch{"the launch files have no argument for a part of the plan"};
    return CannotLaunch{fmt::format("the launch files have no {}{} {}", field.choice() ? "--" : "", name, *values[field])};
  }
  return std::nullopt;
}

}  // namespace

ConfigText::ConfigText(const ConfigurationFormat& format, const RunValues& values) {
  std::set<std::size_t> said;
  std::set<std::string_view> keys;
  for (const ArgumentRow& row : format.rows) {
    if (!is_written_by(row, values) || said.contains(row.field.number()) || is_redundant(format, row.field, values))
      continue;
    const std::optional<std::string> text = said_by(format, row, values);
    if (!text) continue;
    said.insert(row.field.number());
    if (!keys.insert(row.key).second) continue;
    const bool is_script = format.language == ConfigurationLanguage::script;
    set(row.key, text->empty()                               ? Json()
                 : is_script                                 ? Json(*text)
                 : row.is_list || is_set_of_names(row.field) ? list_of(*text)
                                                             : literal(*text));
  }
}

void ConfigText::set(std::string_view key, Json value) { arguments_.emplace_back(key, std::move(value)); }

void ConfigText::note(std::string_view section, std::string_view comment) {
  arguments_.emplace_back(section, Json{{std::string(comment), nullptr}});
}

Json ConfigText::tree() const {
  Json root = Json::object();
  for (const auto& [key, value] : arguments_) {
    Json* node = &root;
    for (const std::string_view step : split(key, ".")) node = &(*node)[std::string(step)];
    if (value.is_object() && node->is_object()) {
      node->update(value);
    } else {
      *node = value;
    }
  }
  return root;
}

std::string ConfigText::json() const { return tree().dump(2) + "\n"; }

std::string ConfigText::yaml() const {
  std::string text;
  add_yaml(text, tree(), 0);
  return text;
}

std::string ConfigText::toml() const {
  std::string text;
  const Json root = tree();
  for (const auto& [section, arguments] : root.items()) add_toml(text, section, arguments);
  return text;
}

std::string ConfigText::shell() const {
  std::string text;
  for (const auto& [key, value] : arguments_)
    text += value.is_null() ? fmt::format("  {}\n", key) : fmt::format("  {} {}\n", key, value_text(value, false));
  return text;
}

std::optional<CannotLaunch> refused(const LaunchRequest& request, const ConfigurationFormat& format,
                                    const RunValues& values) {
  if (std::optional<CannotLaunch> lacks = lacks_frozen_parts(request)) return lacks;
  const Plan& plan = request.plan();
  if (plan.global_batch % (plan.mesh.batch_parts() * plan.micro_batches) != 0)
    return CannotLaunch{"the global batch does not divide into equal micro-batches"};
  return missing_value(format, values);
}

std::optional<CannotLaunch> missing_axes(const ConfigurationFormat& format, const Plan& plan) {
  Family axes = family_bit(Axis::data);
  for (const auto& [axis, field] : {std::pair{Axis::tensor, ConfigField::tensor},
                                    {Axis::pipeline, ConfigField::pipeline},
                                    {Axis::context, ConfigField::context},
                                    {Axis::expert, ConfigField::expert}}) {
    for (const ArgumentRow& row : format.rows) {
      if (row.field == field && !row.is_only_read) axes |= family_bit(axis);
    }
  }
  return lacks_axes(plan, axes);
}

}  // namespace ddl
