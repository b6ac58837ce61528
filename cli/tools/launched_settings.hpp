#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/tools/launcher.hpp"

namespace ddl {

/// What a setting means for launch files.
struct LaunchedSetting {
  std::string_view key;  ///< key of the setting (setting_rows)
  /// Whether the setting is a part of the training, such as compressed gradients: launch files have to carry it. Otherwise
  /// the setting describes the machine, the data, or how fast a software is, which no file can change.
  bool is_of_training = false;
  std::string_view usual{};            ///< values that every tool runs without an argument, separated by spaces
  bool is_of_mixed_precision = false;  ///< whether the setting has an effect in mixed precision only
};
/// Returns a row for each setting. A setting without a row is of the training, and has no usual value.
[[nodiscard]] std::span<const LaunchedSetting> launched_settings();

/// Returns why the files of a tool do not run what the user's settings say; empty if they do. `carried`: the settings that
/// the tool's files carry, as `key`, or as `key=value value` for some values.
[[nodiscard]] std::optional<CannotLaunch> lacks_settings(const LaunchRequest& request,
                                                         std::span<const std::string_view> carried);
/// Returns the value that the user gave to a setting, as in options: `powersgd`; empty if the user gave none.
[[nodiscard]] std::optional<std::string> asked_setting(const LaunchRequest& request, std::string_view key);

}  // namespace ddl
