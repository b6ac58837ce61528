#include "estimator/inputs/settings.hpp"

#include <algorithm>
#include <utility>

namespace ddl {
namespace {

std::size_t place_of(const SettingRow& row) { return static_cast<std::size_t>(&row - setting_rows().data()); }

}  // namespace

const SettingRow* find_setting(std::string_view key) {
  const std::span<const SettingRow> rows = setting_rows();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const SettingRow& row) {
    return row.key == key || (!key.empty() && row.former == key);
  });
  return found == rows.end() ? nullptr : &*found;
}

std::vector<std::string_view> setting_keys(bool (*is_one)(const SettingRow&)) {
  std::vector<std::string_view> keys;
  for (const SettingRow& row : setting_rows()) {
    if (is_one(row)) keys.push_back(row.key);
  }
  return keys;
}

void Settings::set(std::string_view key, SettingValue value) { set(*find_setting(key), std::move(value)); }
void Settings::set(const SettingRow& row, SettingValue value) { values_[place_of(row)] = std::move(value); }

const SettingValue* Settings::find(std::string_view key) const {
  const SettingRow* const row = find_setting(key);
  const auto found = row == nullptr ? values_.end() : values_.find(place_of(*row));
  return found == values_.end() ? nullptr : &found->second;
}

std::optional<double> Settings::number(std::string_view key) const {
  const SettingValue* const found = find(key);
  return found == nullptr ? std::nullopt : std::optional(found->value);
}

std::optional<bool> Settings::flag(std::string_view key) const {
  const SettingValue* const found = find(key);
  return found == nullptr ? std::nullopt : std::optional(found->value != 0);
}

void Settings::override_by(const Settings& other) {
  for (const auto& [place, value] : other.values_) values_[place] = value;
}

Settings Settings::said_by(SettingOrigin origin) const {
  Settings same = *this;
  for (auto& [place, value] : same.values_) value = {value.value, origin, {}};
  return same;
}

void apply_settings(const Settings& settings, Precision precision, Assumptions& assumptions, Software& software) {
  SettingEffects effects{assumptions, software, settings, precision};
  settings.for_each([&](const SettingRow& row, const SettingValue& value) { row.apply(value, effects); });
}

}  // namespace ddl
