#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/inputs/study.hpp"
#include "cli/options/command_line.hpp"
#include "cli/report/report.hpp"
#include "core/margin.hpp"

namespace ddl {

/// The memory and the margin of a device. Set values replace the values of the machine and the job.
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
  Settings settings;                       ///< values of settings that have an option
  std::vector<std::string> setting_words;  ///< of --setting
  std::optional<std::int64_t> sequence, packed_length;
  std::string input_shape;  ///< of --input-shape
  MemoryOptions memory;
};
void add_study_options(const Command& command, StudyOptions& options);
/// Adds --seq and --input-shape.
void add_sample_options(const Command& command, std::optional<std::int64_t>& sequence, std::string& input_shape);
/// Returns the model's name with the sizes of `--input-shape` appended. Only ONNX files accept `--input-shape`.
[[nodiscard]] std::string shaped_model(const std::string& model, const std::string& input_shape);
/// Adds --software.
Option add_software_option(const Command& command, std::string& software);
/// Adds --profile and --any-device.
void add_profile_options(const Command& command, std::vector<std::string>& profiles, bool& any_device);
[[nodiscard]] std::string_view mixed_precision_text(const Study& study);
/// The value of --optimizer-implementation. Throws Error, with "did you mean", for an unknown name.
[[nodiscard]] UpdateImplementation update_implementation_named(const std::string& name);
/// Throws Error, with "did you mean", for an unknown name.
[[nodiscard]] StudySpec spec_of(const StudyOptions& options);

/// All pairs of a model of `--model a,b` and a machine of `--machine c,d`. The name of a file may contain a comma.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> studies_named(const StudyOptions& options);

/// For offer_models and offer_machines, completions offer files and the bundled models or machines.
Option offer_models(Option option);
Option offer_machines(Option option);

/// Adds -o and --output, for a file.
Option add_output_option(const Command& command, std::string& output, const std::string& description);
/// Adds --color and --format, with the formats for documents, JSON, and the formats for the contents in `held`.
void add_format_option(const Command& command, ReportOptions& options, const std::vector<Content>& held = {});
/// Adds --color, --format, and -o and --output for the report.
void add_report_options(const Command& command, ReportOptions& options, const std::vector<Content>& held = {Content::rows});

/// A default in force: the option, its value, and the reason.
struct Default {
  std::string option, value, reason;
};
[[nodiscard]] std::vector<Default> defaults_of(const Command& command, const StudyOptions& options, const Study& study);

}  // namespace ddl
