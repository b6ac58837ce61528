#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/tools/launcher.hpp"

namespace ddl {

/// Returns why the files of a tool do not run what the user's settings say; empty if they do. `carried`: the settings that
/// the tool's files carry, as `key`, or as `key=value value` for some values.
[[nodiscard]] std::optional<CannotLaunch> lacks_settings(const LaunchRequest& request,
                                                         std::span<const std::string_view> carried);
/// Returns the value that the user gave to a setting, as in options: `powersgd`; empty if the user gave none.
[[nodiscard]] std::optional<std::string> asked_setting(const LaunchRequest& request, std::string_view key);

}  // namespace ddl
