#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/inputs/study.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/price.hpp"
#include "cli/options/what_if.hpp"
#include "cli/report/report.hpp"
#include "core/margin.hpp"

namespace ddl {

/// The values of --gpu-memory and --margin. A value that is set replaces the value of the machine or the job.
struct MemoryOptions {
  std::optional<Bytes> gpu_memory;
  std::optional<Margin> margin;
};
/// Adds --gpu-memory and --margin. `options` must outlive the command.
void add_memory_options(const Command& command, MemoryOptions& options);

/// The options for model, data set, machine, software and precision that all commands share, as the user typed them.
struct StudyOptions {
  std::string model = "resnet50", dataset, machine = "dgx-a100", coefficients, software, precision, optimizer;
  std::vector<std::string> profiles;
  bool any_device = false;
  bool ideal = false;
  Settings saved;                          ///< settings of a report of --plan, which options override
  Settings settings;                       ///< values of settings that have an option
  std::vector<std::string> setting_words;  ///< values of --setting
  std::optional<std::int64_t> sequence, packed_length, adapters;
  std::string adapter_kind;
  std::string input_shape;          ///< value of --input-shape
  std::vector<DevicePrice> prices;  ///< value of --price
  MemoryOptions memory;
  std::optional<WhatIf> supposed;  ///< a supposed case of --what-if; unset: the machine and the settings as they are
};
void add_study_options(const Command& command, StudyOptions& options);
void add_sample_options(const Command& command, std::optional<std::int64_t>& sequence, std::string& input_shape);
/// Returns the model's name with the sizes of `--input-shape` appended.
[[nodiscard]] std::string shaped_model(const std::string& model, const std::string& input_shape);
/// Returns the model's name with adapters of the rank of `--lora` and the kind of `--adapter` appended. Throws Error if the
/// name has adapters already, or if a kind has no rank.
[[nodiscard]] std::string adapted_model(const std::string& model, std::optional<std::int64_t> rank, const std::string& kind);
Option add_software_option(const Command& command, std::string& software);
/// Adds --setting.
Option add_setting_words(const Command& command, std::vector<std::string>& words);
void add_profile_options(const Command& command, std::vector<std::string>& profiles, bool& any_device);
[[nodiscard]] std::string_view mixed_precision_text(const Study& study);
/// Parses the value of --optimizer-implementation. Throws Error, with "did you mean", for an unknown name.
[[nodiscard]] UpdateImplementation update_implementation_named(const std::string& name);
/// Converts the options to a study's specification. Throws Error, with "did you mean", for an unknown name.
[[nodiscard]] StudySpec spec_of(const StudyOptions& options);

/// Loads the study of a specification of spec_of, with the prices of --price.
[[nodiscard]] std::shared_ptr<Study> study_of(const StudySpec& spec, const StudyOptions& options);

/// A model and a machine that a command names together, with the number of GPUs in `--machine h100:32`.
struct NamedStudy {
  std::string model, machine;
  std::optional<std::int64_t> gpus{};
};
/// Returns all pairs of a model of `--model a,b` and a machine of `--machine c,d:32`. The name of a file may contain a comma
/// or a colon.
[[nodiscard]] std::vector<NamedStudy> studies_named(const StudyOptions& options);

/// For the value of this option, completions offer files and the bundled models. offer_machines does so for machines.
Option offer_models(Option option);
Option offer_machines(Option option);

/// Adds -o and --output, which name a file.
Option add_output_option(const Command& command, std::string& output, const std::string& description);
/// Adds --color and --format. Offers the formats for documents, for JSON, and for the contents in `held`, which the report
/// has.
void add_format_option(const Command& command, ReportOptions& options, const std::vector<Content>& held = {});
/// Adds --color, --format, and -o and --output for the report's file.
void add_report_options(const Command& command, ReportOptions& options, const std::vector<Content>& held = {Content::rows});

/// A default in force: the option, the value, and the reason for the value.
struct Default {
  std::string option, value, reason;
};
[[nodiscard]] std::vector<Default> defaults_of(const Command& command, const StudyOptions& options, const Study& study);

}  // namespace ddl
