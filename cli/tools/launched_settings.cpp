#include "cli/tools/launched_settings.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "estimator/inputs/settings.hpp"

namespace ddl {
namespace {

std::string text_of(const SettingRow& row, const SettingValue& setting) {
  if (row.kind == SettingKind::name) return std::string(row.names[static_cast<std::size_t>(setting.value)]);
  if (row.kind == SettingKind::flag) return setting.value != 0 ? "yes" : "no";
  return fmt::format("{}", setting.value);
}

bool is_word_of(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

bool is_carried(std::span<const std::string_view> carried, std::string_view key, std::string_view value) {
  return std::ranges::any_of(carried, [&](std::string_view each) {
    const std::size_t at = each.find('=');
    return each.substr(0, at) == key && (at == std::string_view::npos || is_word_of(each.substr(at + 1), value));
  });
}

}  // namespace

std::optional<std::string> asked_setting(const LaunchRequest& request, std::string_view key) {
  const SettingRow* const row = find_setting(key);
  const SettingValue* const found = request.study.spec().settings.find(key);
  if (row == nullptr || found == nullptr) return std::nullopt;
  return text_of(*row, *found);
}

std::optional<CannotLaunch> lacks_settings(const LaunchRequest& request, std::span<const std::string_view> carried) {
  std::optional<CannotLaunch> lacks;
  request.study.spec().settings.for_each([&](const SettingRow& row, const SettingValue& setting) {
    if (lacks || row.in_launch_files == InLaunchFiles::irrelevant) return;
    if (row.counts != nullptr && !row.counts(request.study.job().facts, request.plan())) return;
    const std::string value = text_of(row, setting);
    if (is_word_of(row.launched_by_default, value) || is_carried(carried, row.key, value)) return;
    std::string option(row.key);
    std::ranges::replace(option, '_', '-');
    lacks = CannotLaunch{row.has_option ? fmt::format("the launch files have no --{} {}", option, value)
                                        : fmt::format("the launch files have no --setting {}={}", row.key, value)};
  });
  return lacks;
}

}  // namespace ddl
