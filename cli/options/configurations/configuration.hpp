#pragma once

#include <array>
#include <cstdint>
#include <functional>
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

/// Returns whether the user gives an option on the command line.
using IsGiven = std::function<bool(const std::string& option)>;

/// The value of one field in a configuration, and its position in the file.
struct Fact {
  std::string value;
  std::optional<ConfigEntry> from{};  ///< unset: the value is the tool's default
  std::string problem{}, hint{};      ///< why the value cannot be used; empty if the value is usable
  bool is_weak = false;               ///< any other argument that sets this field takes precedence
};

/// An argument of a configuration that requests something which this program does not predict.
struct Refusal {
  ConfigEntry at;
  std::string message, hint;
  bool is_of_model = false;     ///< the argument is ignored if --model is given
  std::string_view families{};  ///< families of models that --model may name, separated by spaces; empty: all
  std::string_view unless{};    ///< the argument is ignored if one of these options is given, separated by spaces
};

/// A configuration of another tool, parsed but not yet converted to options. Every value has its position in the file.
class Configuration {
 public:
  std::string file;                  ///< path as the user wrote it
  bool has_unknown_program = false;  ///< whether a script starts a program whose arguments are in no table
  const ConfigurationFormat* format = nullptr;
  std::vector<ConfigEntry> not_modeled{};  ///< arguments that may change time or memory
  std::vector<std::string> warnings{};
  std::vector<std::string> skipped{};       ///< parts of the configuration that are not read, each with its position
  std::vector<ConfigEntry> unread_files{};  ///< arguments that name files with further arguments, which were not read
  std::vector<Refusal> refusals{};
  std::set<std::string> sections{};  ///< first parts of the keys: `training` of `training.seq_len`

  [[nodiscard]] bool says(RunField field) const { return find(field) != nullptr; }
  /// Whether the file itself sets the field. False if the value is the tool's default.
  [[nodiscard]] bool writes(RunField field) const;
  /// Whether an argument of a launcher sets the field: `launch:`.
  [[nodiscard]] bool is_from(RunField field, std::string_view launcher) const;
  [[nodiscard]] const Fact* find(RunField field) const;
  /// Returns the value of a field; empty if the field has no value.
  [[nodiscard]] std::string word(RunField field) const;
  /// Returns the value of a field as a number. Throws Error at the position of the value if the
  /// value is not a whole number in the range.
  [[nodiscard]] std::optional<std::int64_t> number(RunField field, std::int64_t low, std::int64_t high) const;
  /// Returns the value of a field as a dropout rate of a model's name: `0.1`. `0` if the field has no value. Throws Error at
  /// the position of the value if it is not a rate.
  [[nodiscard]] std::string dropout_rate(RunField field) const;
  /// Throws Error at the position of the first field in `fields` that the file sets.
  [[noreturn]] void fail(std::initializer_list<RunField> fields, const std::string& message, const std::string& hint) const;
  /// Throws Error for the first argument that is refused or unusable, unless an option on the
  /// command line replaces the argument. `model`: the model of --model.
  void refuse(const IsGiven& is_given, const std::string& model = {}) const;
  /// Appends the names of the skipped parts to a hint about a missing value, because a skipped part may contain the value.
  [[nodiscard]] std::string hint_with_skipped(std::string hint) const;
  void clear(RunField field) { facts_[field.number()].reset(); }
  void set(RunField field, Fact fact) { facts_[field.number()] = std::move(fact); }
  /// Merges `other` into this configuration. Values that `other` sets replace the present values, except for weak values.
  /// Defaults of `other` only fill unset fields.
  void override_by(const Configuration& other);

 private:
  std::array<std::optional<Fact>, RunField::count> facts_{};
};

/// Whether an option of the command line gives the value of a field, so that the file does not have to give it.
[[nodiscard]] bool has_option(RunField field);

/// Maximum of each number of GPUs, samples and sizes in a configuration.
inline constexpr std::int64_t most_configured = std::int64_t{1} << 40U;

/// Reads a configuration in one of the known formats; empty if the file's format is unknown. Throws Error with a position in
/// the file, if the file is not valid in its format, or if arguments contradict each other.
[[nodiscard]] std::optional<Configuration> recognize_configuration(const std::string& path, const ScriptValues& values = {});
/// Like recognize_configuration, but throws Error if the file's format is unknown.
[[nodiscard]] Configuration read_configuration(const std::string& path, const ScriptValues& values = {});

/// Returns the configuration's model in the form that `--model` accepts: a bundled model with the name that the tool or
/// Hugging Face uses, or a model family with the sizes in the arguments. Throws Error if the configuration does not give the
/// model, or if no family has the described layers.
[[nodiscard]] std::string model_of(const Configuration& configuration);
/// Returns a warning that the vocabulary of the configuration's tokenizer is unknown; empty if the vocabulary is known.
[[nodiscard]] std::string warning_of_vocabulary(const Configuration& configuration);
/// Returns the bundled model that is published under this name; empty if there is none.
[[nodiscard]] std::optional<std::string> bundled_model_named(std::string_view name);

/// A configuration, converted to the options of this program. Options on the command line take precedence.
struct ConfiguredOptions {
  StudyOptions study;
  PlanOptions own;                ///< the plan of the configuration
  PlanOptions sought;             ///< options for a search with the configuration's model, batch and GPUs
  std::vector<std::string> said;  ///< options that the file sets; reports do not list them as defaults
  std::vector<std::string> warnings{};
};
[[nodiscard]] ConfiguredOptions options_of(const Configuration& configuration, const StudyOptions& study,
                                           const PlanOptions& plan, const IsGiven& is_given);

/// Removes the defaults of options that the file sets.
void remove_said(std::vector<Default>& defaults, const std::vector<std::string>& said);
inline constexpr const char* like_help =
    "read model, GPUs, batch and plan from a configuration of Megatron-LM, DeepSpeed, torchtitan, NeMo or accelerate, or "
    "from the script that runs it; other options take precedence";

/// Adds --set, which gives values for variables and arguments that a script does not set itself.
Option add_set_option(const Command& command, std::vector<std::string>& words);

/// An argument that has to change so that the configuration gives another plan.
struct ConfigurationChange {
  std::string argument;          ///< `--tensor-model-parallel-size`
  std::string now, then;         ///< present and future value; empty: the argument is absent
  std::optional<Place> place{};  ///< the argument's position in the file, if it is there
};
struct ConfigurationChanges {
  std::vector<ConfigurationChange> arguments;
  std::vector<std::string> unsaid;  ///< choices of the other plan for which the format has no argument: `tensor=2`
  Configuration changed;            ///< the configuration with the changed arguments
};
/// Returns the arguments that differ between the plans. `states_batch`: whether the global batch is an argument of its own,
/// and does not follow from the samples of a replica.
[[nodiscard]] ConfigurationChanges changes_of(const Configuration& configuration, const Plan& own, const Plan& other,
                                              std::int64_t layers, bool states_batch);

/// Returns a file and line for messages: `run.sh:12`; empty if the position is unknown.
[[nodiscard]] std::string line_text(const std::optional<Place>& place);

}  // namespace ddl
