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

/// One training as a file says it: what is trained on what, and by which plan. Empty names and unset choices take the
/// defaults of a study.
struct JobFile {
  std::string model, dataset, machine, coefficients, software;
  std::optional<std::int64_t> sequence;       ///< tokens of a sample; unset: the model's own
  std::optional<std::int64_t> packed_length;  ///< tokens of a document in packed sequences; unset: a sequence is one
  std::vector<std::string> profiles;
  bool any_device = false;
  std::optional<Precision> precision;
  std::optional<Optimizer> optimizer;
  Settings settings;                          ///< in place of what the software does
  Plan plan;                                  ///< with the global batch, and the precision and optimizer where they are set
  std::optional<std::int64_t> batch_per_gpu;  ///< where the batch is given so
  std::optional<Bytes> gpu_memory;
  std::optional<Margin> margin;

  friend bool operator==(const JobFile&, const JobFile&) = default;
};

/// A job that was read, and where each of its words stands.
struct ParsedJob {
  JobFile job;
  YamlNode root;

  /// The value behind a key: a name of several, such as the one that is to blame; the whole file where it has none of them.
  [[nodiscard]] YamlNode place(std::initializer_list<std::string_view> keys) const;
};

/// Reads the form alone: whether there is such a model is not looked up. Errors are placed in the text.
[[nodiscard]] ParsedJob parse_job(const std::string& text, const std::string& origin);
/// Text that parse_job reads back to the same job.
[[nodiscard]] std::string print_job(const JobFile& job);

/// What of a study, and this plan of it, a job says. Paths become relative to `folder`, where the file is to lie.
[[nodiscard]] JobFile job_of(const Study& study, const Plan& plan, const std::string& folder);
/// The study of a job whose file lies in `folder`, which its paths are relative to.
[[nodiscard]] StudySpec spec_of(const JobFile& job, const std::string& folder);

}  // namespace ddl
