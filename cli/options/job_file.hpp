#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/inputs/study.hpp"
#include "core/margin.hpp"
#include "core/yaml_node.hpp"
#include "estimator/inputs/settings.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// One training as a job file describes it: model, data set, machine, software and plan. Empty
/// names and unset choices take the defaults of a study.
struct JobFile {
  std::string model, dataset, machine, coefficients, software;
  std::optional<std::int64_t> sequence;       ///< tokens of a sample; unset: the model's sequence length
  std::optional<std::int64_t> packed_length;  ///< tokens of a document; unset: sequences are not packed
  std::vector<std::string> profiles;
  bool any_device = false;
  std::optional<Precision> precision;
  std::optional<Optimizer> optimizer;
  Settings settings;                          ///< these values override the software's settings
  Plan plan;                                  ///< with the global batch; precision and optimizer are set if the job has them
  std::vector<std::string> layers{};          ///< layers of the plan with other degrees, as the values of --layers
  std::optional<std::int64_t> batch_per_gpu;  ///< set if the job gives the batch per GPU
  std::optional<Bytes> gpu_memory;
  std::optional<Margin> margin;

  friend bool operator==(const JobFile&, const JobFile&) = default;
};

/// A parsed job file, with the positions of its keys.
struct ParsedJob {
  JobFile job;
  YamlNode root;

  /// Returns the position for an error about `keys`: the value of the first of these keys that the
  /// job has, or the whole file if the job has none of these keys.
  [[nodiscard]] YamlNode place(std::initializer_list<std::string_view> keys) const;
};

/// Parses the text of a job file, without looking up models and machines. Errors have a position in the text.
[[nodiscard]] ParsedJob parse_job(const std::string& text, const std::string& origin);
/// Prints a job as the text of a job file. parse_job reads the same job back from the text.
[[nodiscard]] std::string print_job(const JobFile& job);

/// Returns the job of a study with this plan. Paths become relative to `folder`, the folder of the job file; relative to the
/// folder `/`, they are absolute.
[[nodiscard]] JobFile job_of(const Study& study, const Plan& plan, const std::string& folder);
/// Returns the folder for the job of a report in this file. A report on the standard output has the folder `/`.
[[nodiscard]] std::string report_folder(const std::string& output);
/// Returns the study of a job file in `folder`. Paths in the job are relative to that folder.
[[nodiscard]] StudySpec spec_of(const JobFile& job, const std::string& folder);

}  // namespace ddl
