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

/// The text of a tool's configuration for one training run. It contains the values of the run in
/// the tool's words, and other arguments that the tool needs.
class ConfigText {
 public:
  using Json = nlohmann::ordered_json;

  ConfigText(const ConfigurationFormat& format, const RunValues& values);

  /// Sets an argument that does not depend on the values of the training run. Dots join nested
  /// keys. `value`: null if the argument has no value.
  void set(std::string_view key, Json value);
  /// Adds a comment line such as `# text` at the present end of a section such as `model.data`.
  void note(std::string_view section, std::string_view comment);

  [[nodiscard]] std::string json() const;
  [[nodiscard]] std::string yaml() const;
  [[nodiscard]] std::string toml() const;
  /// Returns command-line arguments for a shell script, each on its own line.
  [[nodiscard]] std::string shell() const;

 private:
  /// Returns the arguments as a tree, for languages with nested keys.
  [[nodiscard]] Json tree() const;

  std::vector<std::pair<std::string, Json>> arguments_;
};

/// Returns why configurations of this format cannot start the requested run; empty if they can.
/// `values`: the values of the run.
[[nodiscard]] std::optional<CannotLaunch> refused(const LaunchRequest& request, const ConfigurationFormat& format,
                                                  const RunValues& values);
/// Returns why a runtime with configurations of this format cannot run the mesh of the plan; empty if the runtime can.
[[nodiscard]] std::optional<CannotLaunch> missing_axes(const ConfigurationFormat& format, const Plan& plan);

}  // namespace ddl
