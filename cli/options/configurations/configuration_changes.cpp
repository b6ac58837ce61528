#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "cli/options/configurations/configuration.hpp"
#include "cli/tools/run_values.hpp"
#include "core/find.hpp"

namespace ddl {
namespace {

/// Returns all fields. Each field precedes the fields that express parts of its value (StandIn).
std::vector<RunField> fields_in_order() {
  std::vector<RunField> fields;
  const auto add = [&](RunField field) {
    if (!contains(fields, field)) fields.push_back(field);
  };
  for (std::size_t i = 0; i < RunField::count; ++i) {
    const RunField field = RunField::numbered(i);
    if (is_stand_in(field)) continue;
    add(field);
    for (const StandIn& each : stand_ins()) {
      if (each.of == field) add(each.by);
    }
  }
  return fields;
}

/// Converts the difference between two plans to changed arguments of a configuration.
class PlanDifference {
 public:
  PlanDifference(const Configuration& configuration, const Plan& own, const Plan& other, std::int64_t layers)
      : read_(configuration),
        format_(*configuration.format),
        kind_(configuration.word(ConfigField::distributed_type)),
        before_(values_of(own, format_, layers)),
        after_(values_of(other, format_, layers)) {
    changes_.changed = configuration;
  }

  ConfigurationChanges make(bool states_batch) {
    for (const RunField field : fields_in_order()) {
      // An argument is removed if the other plan does not need it.
      const bool goes = before_[field] && !after_[field] && read_.writes(field);
      if ((goes || said(before_, field) != said(after_, field)) && is_compared(field)) compare(field);
    }
    const ArgumentRow* const batch = states_batch ? row_that_says(ConfigField::global_batch) : nullptr;
    if (batch != nullptr && !read_.writes(ConfigField::global_batch)) say(*batch, ConfigField::global_batch);
    return std::move(changes_);
  }

 private:
  [[nodiscard]] std::string usual(const RunValues& values, RunField field) const {
    return usual_value(format_, field, values);
  }
  [[nodiscard]] std::string said(const RunValues& values, RunField field) const {
    return values[field].value_or(usual(values, field));
  }
  [[nodiscard]] bool counts(const ArgumentRow& row) const { return row.only_with.empty() || row.only_with == kind_; }
  [[nodiscard]] bool has_row(RunField field) const {
    return read_.writes(field) || std::ranges::any_of(format_.rows, [&](const ArgumentRow& row) {
             return row.field == field && counts(row) && !row.is_only_read;
           });
  }

  /// Whether only the resharding of weights after forward distinguishes ZeRO-2 from ZeRO-3, as in files of FSDP2, which name
  /// no stage.
  [[nodiscard]] bool tells_by_reshards() const {
    const ArgumentRow* const row = row_in_file(PlanChoice::zero);
    const auto shards = [](const RunValues& values) {
      return values.is(PlanChoice::zero, "2") || values.is(PlanChoice::zero, "3");
    };
    return row != nullptr && row->is_weak && shards(before_) && shards(after_) && has_row(ConfigField::reshards);
  }

  /// Whether changes of a field are listed. If two fields describe one choice, only the field that the file sets is listed.
  /// If the file sets none of them, the field that gives the whole value is listed.
  [[nodiscard]] bool is_compared(RunField field) const {
    if (tells_by_reshards() && (field == PlanChoice::zero || field == ConfigField::reshards))
      return field == ConfigField::reshards;
    for (const StandIn& each : stand_ins()) {
      if (each.by == field && !each.is_added && !read_.writes(field) && has_row(each.of)) return false;
      if (each.of == field && !each.is_added && !read_.writes(field) && (read_.writes(each.by) || !has_row(field)) &&
          has_row(each.by)) {
        return false;
      }
    }
    // The value -1 stands for all remaining ranks, so it stays right for any number of ranks.
    const Fact* shards = read_.find(ConfigField::data_shard);
    return field != ConfigField::data_shard || shards == nullptr || shards->value != "-1" || after_.is(field, "1");
  }

  /// Returns the row for the argument that sets the field in the file. The row may belong to any format.
  [[nodiscard]] const ArgumentRow* row_in_file(RunField field) const {
    if (!read_.writes(field)) return nullptr;
    const std::string key = argument_key(read_.find(field)->from->key);
    for (const ConfigurationFormat* format : configuration_formats()) {
      for (const ArgumentRow& row : format->rows) {
        if (row.field == field && argument_key(row.key) == key && counts(row)) return &row;
      }
    }
    return nullptr;
  }

  [[nodiscard]] bool says_another(const ArgumentRow& row) const {
    return std::ranges::any_of(format_.rows, [&](const ArgumentRow& other) {
      return other.key == row.key && other.field != row.field && after_[other.field];
    });
  }

  /// Returns the row for the argument that would set the other plan's value. A row in a section
  /// that the file already has is preferred.
  [[nodiscard]] const ArgumentRow* row_that_says(RunField field) const {
    const ArgumentRow* elsewhere = nullptr;
    for (const ArgumentRow& row : format_.rows) {
      if (row.field != field || row.is_only_read || !counts(row) || !said_by(format_, row, after_)) continue;
      const std::size_t section = row.key.find('.');
      if (section == std::string_view::npos || read_.sections.contains(argument_key(row.key.substr(0, section))))
        return &row;
      if (elsewhere == nullptr) elsewhere = &row;
    }
    return elsewhere;
  }

  void compare(RunField field) {
    const ArgumentRow* const own = row_in_file(field);
    RunValues after = after_;
    // An argument stays in the file if the other plan needs it for another field.
    if (!after[field] && own != nullptr && says_another(*own)) after.set(field, usual(after_, field));
    const std::optional<std::string> own_word = own == nullptr ? std::nullopt : said_by(format_, *own, after);
    if (read_.writes(field)) {
      const ConfigEntry& entry = *read_.find(field)->from;
      add({.argument = entry.key,
           .now = entry.value.empty() ? "yes" : entry.value,
           .then = !own_word           ? ""
                   : own_word->empty() ? "yes"
                                       : *own_word,
           .place = entry.place()});
      become(field, own_word ? after[field] : std::nullopt);
    }
    if (own_word || said(after_, field) == usual(after_, field)) return;
    if (const ArgumentRow* row = row_that_says(field)) {
      say(*row, field);
    } else if (!is_stand_in(field) && !name_of(field).empty() && !follows(field)) {
      changes_.unsaid.push_back(fmt::format("{}={}", name_of(field), *after_[field]));
    }
  }

  /// Returns whether keys of the file begin with dashes, as arguments of a command do, and keys of YAML do not.
  [[nodiscard]] bool has_dashes() const {
    for (std::size_t i = 0; i < RunField::count; ++i) {
      const Fact* const fact = read_.find(RunField::numbered(i));
      if (fact != nullptr && fact->from && fact->from->key.starts_with('-')) return true;
    }
    return false;
  }

  void say(const ArgumentRow& row, RunField field) {
    const std::string word = *said_by(format_, row, after_);
    std::string key(row.key);
    if (key.starts_with("--") && !has_dashes()) key.erase(0, 2);
    add({.argument = std::move(key), .now = "", .then = word.empty() ? "yes" : word, .place = std::nullopt});
    become(field, after_[field]);
  }

  /// Gives the changed configuration the value of a field; its default if `value` is empty.
  void become(RunField field, const std::optional<std::string>& value) {
    if (value) {
      changes_.changed.set(field, {.value = *value, .from = some_entry(field)});
      return;
    }
    changes_.changed.clear(field);
    for (const UsualValue& each : format_.usual) {
      if (each.field == field && (each.only_with.empty() || each.only_with == kind_))
        changes_.changed.set(field, {.value = std::string(each.value)});
    }
  }

  /// Returns the entry of the field, else any entry, because a value without an entry would count as a default of the tool.
  [[nodiscard]] std::optional<ConfigEntry> some_entry(RunField field) const {
    if (read_.writes(field)) return read_.find(field)->from;
    for (std::size_t i = 0; i < RunField::count; ++i) {
      const Fact* const fact = read_.find(RunField::numbered(i));
      if (fact != nullptr && fact->from && fact->from->is_known) return fact->from;
    }
    return std::nullopt;
  }

  void add(ConfigurationChange change) {
    const auto is_same = [&](const ConfigurationChange& each) { return each.argument == change.argument; };
    const auto& all = changes_.arguments;
    if (change.now != change.then && std::ranges::none_of(all, is_same)) changes_.arguments.push_back(std::move(change));
  }

  /// Whether the field is the number of micro-batches, which needs no argument because the samples
  /// of a micro-batch determine it.
  [[nodiscard]] bool follows(RunField field) const {
    return field == ConfigField::accumulation && (has_row(ConfigField::micro_batch) || has_row(ConfigField::micro_batches));
  }

  const Configuration& read_;
  const ConfigurationFormat& format_;
  std::string kind_;
  RunValues before_, after_;
  ConfigurationChanges changes_;
};

}  // namespace

ConfigurationChanges changes_of(const Configuration& configuration, const Plan& own, const Plan& other, std::int64_t layers,
                                bool states_batch) {
  return PlanDifference(configuration, own, other, layers).make(states_batch);
}

}  // namespace ddl
