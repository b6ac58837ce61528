#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/tools/configuration_format.hpp"
#include "cli/tools/launcher.hpp"

namespace ddl {

/// A configuration that is written: what a run says in the words of a table, and what else its tool needs.
class ConfigText {
 public:
  using Json = nlohmann::ordered_json;

  ConfigText(const ConfigurationFormat& format, const RunValues& values);

  /// An argument that no run says. What is nested has its keys joined by dots; null is an argument that stands alone.
  void set(std::string_view key, Json value);
  /// A line of comment where the next argument of the section would stand: `model.data`, `# text`.
  void note(std::string_view section, std::string_view comment);

  [[nodiscard]] std::string json() const;
  [[nodiscard]] std::string yaml() const;
  [[nodiscard]] std::string toml() const;
  /// Each argument in a line of its own.
  [[nodiscard]] std::string shell() const;

 private:
  /// Of the language that nests keys.
  [[nodiscard]] Json tree() const;

  std::vector<std::pair<std::string, Json>> arguments_;
};

/// Why the files of a format cannot start what is asked for, whose values these are; empty if they can.
[[nodiscard]] std::optional<CannotLaunch> refused(const LaunchRequest& request, const ConfigurationFormat& format,
                                                  const RunValues& values);
/// Why a runtime that has the arguments of a format cannot run the mesh of the plan; empty if it can.
[[nodiscard]] std::optional<CannotLaunch> missing_axes(const ConfigurationFormat& format, const Plan& plan);

}  // namespace ddl
