#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>

#include "calibration/inputs/profile_times.hpp"
#include "calibration/inputs/study.hpp"
#include "calibration/runs/runs.hpp"
#include "core/quantity.hpp"
#include "estimator/memory/verdict.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// A limit that the plan of a run violates, with the names of its model and layer.
struct BrokenLimit {
  Limit limit;
  std::string model, layer;  ///< the layer is empty if no layer causes the limit
};

/// A reason why a run cannot be predicted: a missing fact or a read error, in words, or a limit.
struct Unpredictable {
  std::variant<std::string, BrokenLimit> reason;
};

/// The memory that is predicted for a run, of its fullest stage.
struct MemoryPrediction {
  MemoryBreakdown memory;    ///< memory of the fullest stage, with the memory that the allocator reserves
  MemoryBreakdown measured;  ///< memory of the stage that was measured
  Verdict verdict = Verdict::fits;
  Bytes device{};  ///< memory of the device
  bool has_sequences = false, has_adapters = false, has_attention = false;
};

/// Facts about the prediction of a run, in addition to the predicted time.
struct PredictionDetails {
  /// The sources of the predicted time; only for times of whole steps.
  std::optional<TimeSensitivity> sensitivity;
  std::optional<Verdict> verdict;            ///< whether the plan's estimated memory fits
  MemoryItem largest = MemoryItem::weights;  ///< the item with most of this memory
  double filled = 0;                         ///< this memory, divided by the device's
};

/// Predicts measured runs on one machine. By default runs are in fp32, with adam for sequence
/// models and SGD with momentum for all others. The time to read samples is included if the run
/// includes it. Values that runs of one model share are computed once.
class RunPredictor {
 public:
  /// Throws Error if the machine, the coefficients, the software or a profile are invalid. `software`: the software of runs
  /// that name none, in the form of StudySpec.
  RunPredictor(std::string machine, std::string coefficients, const ProfileChoice& profiles, std::string software = {},
               KnownKernels known_kernels = KnownKernels::all);

  using Prediction = std::variant<Seconds, Unpredictable>;
  /// Predicts the quantity of the run, with all available data or, if `ideal`, by the closed forms. `coefficients` may
  /// differ from coefficients() in the software and in the fitted factors, but not in the measured times. `details`: filled
  /// if it is not null.
  [[nodiscard]] Prediction predict(const MeasuredRun& run, const Coefficients& coefficients, bool ideal = false,
                                   PredictionDetails* details = nullptr);

  /// Predicts the memory of a run.
  [[nodiscard]] std::variant<MemoryPrediction, Unpredictable> predict_memory(const MeasuredRun& run);

  /// Returns the step of a run that can be predicted, with the derivatives of its times.
  [[nodiscard]] StepTemplate step_template(const MeasuredRun& run, const Coefficients& coefficients);
  /// Returns the launch overhead of a kernel in a prediction of this run.
  [[nodiscard]] Seconds launch_overhead(const MeasuredRun& run);

  /// The coefficients of the machine, or the coefficients that the user named.
  [[nodiscard]] const Coefficients& coefficients() const { return coefficients_; }
  [[nodiscard]] const std::string& device() const { return sheet_.device.name; }
  [[nodiscard]] const FoundProfiles& profiles() const { return *profiles_; }
  /// Warnings about profiles that could not be read, and about profiles of another device.
  [[nodiscard]] std::vector<std::string> profile_warnings() const;
  /// Frees the results that runs of one model share. Later runs recompute these results.
  void forget_studies() { studies_.clear(); }

 private:
  /// The estimate of a run's plan, and the inputs that it refers to.
  struct Estimated;
  [[nodiscard]] std::variant<Estimated, Unpredictable> estimated(const MeasuredRun& run, const Coefficients& coefficients,
                                                                 bool ideal);
  /// Returns the reason why a run's model cannot be read; empty if there is no problem.
  [[nodiscard]] const std::optional<std::string>& problem_of(const std::string& model);
  /// Returns the reason why a run's software cannot be read; empty if there is no problem.
  [[nodiscard]] const std::optional<std::string>& problem_of_software(const std::string& software);
  [[nodiscard]] const Study& study(const MeasuredRun& run, bool ideal);

  std::string machine_, coefficients_name_, software_;
  KnownKernels known_kernels_ = KnownKernels::all;
  // Files that all studies use. They are read once, because reading the files of a machine takes longer than predicting a
  // run.
  Machine sheet_;
  Coefficients coefficients_;
  std::map<std::string, Model> models_;
  std::shared_ptr<const FoundProfiles> profiles_;
  /// The properties that runs of one study share.
  using StudyKey = std::tuple<std::string, Precision, std::optional<Optimizer>, bool, bool, std::string, Settings>;
  std::map<StudyKey, std::unique_ptr<Study>> studies_;
  std::map<std::string, std::optional<std::string>> problems_, software_problems_;
};

/// Converts a measured throughput to the time of a step, so that times are compared in all cases.
[[nodiscard]] MeasuredRun in_seconds(MeasuredRun run);

}  // namespace ddl
