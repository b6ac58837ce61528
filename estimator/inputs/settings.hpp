#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/software.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {

/// The origin of a setting's value. A value with a later enumerator overrides a value with an earlier one.
enum class SettingOrigin { software, coefficients, run, job, option };

/// The syntax of a value: `yes`, a name, `1.5`, `3`, `20 us`, `30 B`, `p95`, `5 d`, `2 TB/s`. A duration is at most that of
/// a kernel launch; a time has the bounds of its row.
enum class SettingKind { flag, name, number, whole_number, duration, bytes, percentile, time, bandwidth };

/// A value of a setting. `value` is 0 or 1 for a flag, the index of a name, or a number in base units.
struct SettingValue {
  double value = 0;
  SettingOrigin origin{};
  std::string source{};  ///< the citation in the file that sets the value; empty if there is none
  friend auto operator<=>(const SettingValue&, const SettingValue&) = default;
};

/// Whether the launch files of a tool must carry a setting that the user gave. Settings of the training are required, such
/// as compressed gradients. A setting is irrelevant if it describes the speed of a software, the machine or the data.
enum class InLaunchFiles { required, irrelevant };

class Settings;
struct ModelFacts;
struct Plan;

/// The variables that settings change. Each setting writes some of these variables.
struct SettingEffects {
  Assumptions& assumptions;
  Software& software;
  const Settings& settings;  ///< all settings
  Precision precision = Precision::fp32;
};

/// One setting, which describes how a training runs. Options, jobs, tables of runs, and files of software and coefficients
/// read the table of settings. Runs, jobs and options can set every setting. The row says which files can set it.
struct SettingRow {
  /// The key in files. The option has the same name, with dashes in place of underscores.
  std::string_view key;
  std::string_view help;
  SettingKind kind = SettingKind::flag;
  std::span<const std::string_view> names{};
  double least = 0, most = 0;    ///< smallest and largest allowed number
  bool by_software = false;      ///< whether a software file may set the setting
  bool by_coefficients = false;  ///< whether a file of coefficients may set the setting
  bool has_option = false;       ///< whether the setting has its own option, and its own key in job files
  bool has_column = false;       ///< whether the setting has its own column in tables of runs
  bool with_ideal = true;        ///< whether the setting has an effect with `--ideal`
  std::string_view unit{};       ///< the unit of a number, which the user may write: `W`
  std::string_view usual{};      ///< shown as the default of the option
  std::string_view only_with{};  ///< the value of `only_with_key` that the setting requires
  std::string_view only_with_key = "allreduce";
  std::string_view former{};  ///< the key in files of older versions
  InLaunchFiles in_launch_files = InLaunchFiles::required;
  std::string_view launched_by_default{};  ///< values that every tool runs without an argument, separated by spaces
  void (*apply)(const SettingValue& setting, SettingEffects& effects) = nullptr;
  /// Whether the setting may change the time or the memory of a plan; null: it always may.
  bool (*counts)(const ModelFacts& facts, const Plan& plan) = nullptr;
};

/// Returns the table of settings. Settings are applied in the order of the table.
[[nodiscard]] std::span<const SettingRow> setting_rows();
/// Returns the row with this key or former key; null if there is none.
[[nodiscard]] const SettingRow* find_setting(std::string_view key);
/// Returns the keys of all rows for which `is_one` returns true.
[[nodiscard]] std::vector<std::string_view> setting_keys(bool (*is_one)(const SettingRow&));

/// The values of some settings, in the order of the table of settings.
class Settings {
 public:
  /// Sets the value of `key`, which must be in the table of settings.
  void set(std::string_view key, SettingValue value);
  void set(const SettingRow& row, SettingValue value);
  [[nodiscard]] const SettingValue* find(std::string_view key) const;
  [[nodiscard]] std::optional<double> number(std::string_view key) const;
  [[nodiscard]] std::optional<bool> flag(std::string_view key) const;
  template <class Enum>
  [[nodiscard]] std::optional<Enum> choice(std::string_view key) const {
    const SettingValue* found = find(key);
    if (found == nullptr) return std::nullopt;
    return static_cast<Enum>(found->value);
  }
  /// Replaces the values of the settings that `other` sets.
  void override_by(const Settings& other);
  /// Returns the values that have this origin.
  [[nodiscard]] Settings said_by(SettingOrigin origin) const;
  [[nodiscard]] bool empty() const { return values_.empty(); }
  void clear() { values_.clear(); }

  template <class Action>
  void for_each(const Action& action) const {
    for (const auto& [place, value] : values_) action(setting_rows()[place], value);
  }
  friend auto operator<=>(const Settings&, const Settings&) = default;

 private:
  std::map<std::size_t, SettingValue> values_;  ///< keyed by the row of the table of settings
};

/// Applies the settings to `assumptions` and `software`.
void apply_settings(const Settings& settings, Precision precision, Assumptions& assumptions, Software& software);

/// Indices of the values of the setting `input`.
inline constexpr std::size_t input_every_rank = 0, input_leader = 1, input_none = 2;

}  // namespace ddl
