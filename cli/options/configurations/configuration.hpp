#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/configurations/config_entry.hpp"
#include "cli/options/configurations/script_values.hpp"
#include "cli/options/plan_options.hpp"
#include "cli/options/study_options.hpp"
#include "cli/tools/configuration_format.hpp"
#include "estimator/plan/plan.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {

/// Whether an option stands on the command line.
using IsGiven = std::function<bool(const std::string& option)>;

/// What a configuration says of one field: the meaning of the words, and where they stand.
struct Fact {
  std::string value;
  std::optional<ConfigEntry> from{};  ///< nothing: it is what the tool does unasked
  std::string problem{}, hint{};      ///< why it cannot be used; empty: it can
  bool is_weak = false;               ///< any other argument of the field takes precedence
};

/// What a configuration asks for that no prediction has.
struct Refusal {
  ConfigEntry at;
  std::string message, hint;
  bool is_of_model = false;  ///< it does not count if an option names what is trained
};

/// A configuration of another tool, read and not yet put into options. Every value knows its place.
class Configuration {
 public:
  std::string file;  ///< as the user named it
  const ConfigurationFormat* format = nullptr;
  std::vector<ConfigEntry> not_modelled{};  ///< arguments that may change time or memory
  std::vector<std::string> warnings{};
  std::vector<std::string> skipped{};  ///< what of it is not read, each with its place
  std::vector<Refusal> refusals{};
  std::set<std::string> sections{};  ///< first steps of its keys: `training`, `model`

  [[nodiscard]] bool says(RunField field) const { return find(field) != nullptr; }
  /// Whether the file itself says it.
  [[nodiscard]] bool writes(RunField field) const;
  [[nodiscard]] const Fact* find(RunField field) const;
  /// The word of a field; empty if it is not given.
  [[nodiscard]] std::string word(RunField field) const;
  /// Throws Error, placed at the value, on what is no whole number in the range.
  [[nodiscard]] std::optional<std::int64_t> number(RunField field, std::int64_t low, std::int64_t high) const;
  /// Ends the command: placed at the first of the fields that the file says.
  [[noreturn]] void fail(std::initializer_list<RunField> fields, const std::string& message, const std::string& hint) const;
  /// Throws the first refusal that counts.
  void refuse(const IsGiven& is_given) const;
  /// The hint, and what of the file was skipped, where the answer may be.
  [[nodiscard]] std::string hint_with_skipped(std::string hint) const;
  void set(RunField field, Fact fact) { facts_[field.number()] = std::move(fact); }
  /// What the other says counts.
  void override_by(const Configuration& other);

 private:
  std::array<std::optional<Fact>, RunField::count> facts_{};
};

/// Most GPUs, samples and sizes that a configuration may say.
inline constexpr std::int64_t most_configured = std::int64_t{1} << 40U;

/// Reads a file of one of the formats; nothing if it is of none. Throws Error, placed in the file, on what its format
/// cannot be, and on arguments that contradict each other.
[[nodiscard]] std::optional<Configuration> recognise_configuration(const std::string& path, const ScriptValues& values = {});
/// The same, which throws Error for a file of no known format.
[[nodiscard]] Configuration read_configuration(const std::string& path, const ScriptValues& values = {});

/// A model of the zoo: a bundled one of the name that a tool or Hugging Face uses, or a family with the sizes of the
/// arguments, as `--model` takes it. Throws Error where nothing says the model, and where no family has such parts.
[[nodiscard]] std::string model_of(const Configuration& configuration);
/// The bundled model that is published under this name; nothing if none is.
[[nodiscard]] std::optional<std::string> bundled_model_named(std::string_view name);

/// What a configuration asks for, in the options of this program. Options that were given stay.
struct ConfiguredOptions {
  StudyOptions study;
  PlanOptions own;                ///< the plan of the configuration
  PlanOptions sought;             ///< what a search for the same work asks for
  std::vector<std::string> said;  ///< options that the file says, so that they are no defaults
};
[[nodiscard]] ConfiguredOptions options_of(const Configuration& configuration, const StudyOptions& study,
                                           const PlanOptions& plan, const IsGiven& is_given);

/// Removes defaults of options that the file says.
void remove_said(std::vector<Default>& defaults, const std::vector<std::string>& said);
/// The blocks of a model: layers of transformers.
[[nodiscard]] std::int64_t blocks_of(const Model& model);
/// What --like says of itself in the help.
inline constexpr const char* like_help =
    "read model, GPUs, batch and plan from a configuration of Megatron-LM, DeepSpeed, torchtitan, NeMo or accelerate, or "
    "from the script that runs it; other options take precedence";

/// Adds --set, for what scripts take from outside.
Option add_set_option(const Command& command, std::vector<std::string>& words);

/// An argument of the configuration that another plan would have otherwise.
struct ConfigurationChange {
  std::string argument;          ///< `--tensor-model-parallel-size`
  std::string now, then;         ///< values; empty: the argument is left out
  std::optional<Place> place{};  ///< where it stands now
};
struct ConfigurationChanges {
  std::vector<ConfigurationChange> arguments;
  std::vector<std::string> unsaid;  ///< what the format has no argument for: `tensor=2`
};
[[nodiscard]] ConfigurationChanges changes_of(const Configuration& configuration, const Plan& own, const Plan& other,
                                              std::int64_t layers);

/// `run.sh:12`, or nothing if no place is known.
[[nodiscard]] std::string line_text(const std::optional<Place>& place);

}  // namespace ddl
