#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model_zoo/network/model.hpp"
#include "profiler/backends/kernel_backend.hpp"
#include "profiler/measurement/measurement.hpp"
#include "profiler/measurement/sequence.hpp"
#include "profiler/measurement/speed_watch.hpp"
#include "profiler/profiles/profile_file.hpp"

namespace ddl {

/// The problems to measure: single problems, and a model as a whole at several numbers of samples.
struct ProfilePlan {
  std::vector<CountedProblem> problems{};
  std::optional<Model> model{};           ///< model to run as a whole; unset: none
  std::vector<std::int64_t> sequences{};  ///< number of samples of each whole step
  Precision precision = Precision::fp32;  ///< precision of the runs of the whole model
  Optimizer optimizer = Optimizer::sgd;   ///< optimizer of the runs of the whole model
  SamplingRule rule{};
  CacheState caches = CacheState::step;
  StepStart step_start = StepStart::kernels;

  /// The number of items: one per problem, and one per part of each whole step of the model.
  [[nodiscard]] std::size_t items() const;
  /// The problem, as a line, in the profile row of an item.
  [[nodiscard]] std::string line(std::size_t item) const;
};

/// If the back end supports none of the problems, returns the reason for the first problem. Empty
/// if the back end supports at least one problem, or if there are no problems.
[[nodiscard]] std::string refusal_of_all(const KernelBackend& backend, const ProfilePlan& plan);

/// Measures the items of a plan. Whole steps of the model run between problems with the same number
/// of samples, so that a temporary slowdown of the machine affects steps and problems equally.
class Profiling {
 public:
  Profiling(KernelBackend& backend, const ProfilePlan& plan);

  /// The row of one item; empty if the measurement was stopped before the first sample. A DeviceLost error names the problem
  /// that ran, or says that a step of the whole model ran.
  [[nodiscard]] std::optional<ProfileRow> measure_item(std::size_t item, const std::function<bool()>& stop = {});

 private:
  KernelBackend& backend_;
  const ProfilePlan& plan_;
  /// The whole steps of the model with one number of samples. They run between problems with this number of samples.
  struct WholeSteps {
    std::unique_ptr<SequenceSampling> sampling{};
    std::vector<double> looks{};
    DeviceState state{};                   ///< state of the device at the last step
    std::size_t problems = 0, passed = 0;  ///< numbers of problems with these samples, and of those measured
  };
  /// Measures the speed of the device now. Returns the mean of this reading and the previous one,
  /// with the device's state at this reading.
  [[nodiscard]] SpeedLook look();
  [[nodiscard]] std::string line_of_step(std::int64_t samples) const;
  void take_step(std::int64_t samples, WholeSteps& steps);
  void run_step(std::int64_t samples, WholeSteps& steps);
  void step_between(const std::string& line);
  [[nodiscard]] std::vector<ProfileRow> rows_of(const WholeSteps& steps) const;

  std::map<std::int64_t, WholeSteps> steps_{};
  std::unordered_map<std::string, std::int64_t> samples_of_{};  ///< samples of the problems of the whole model
  std::map<std::string, ProfileRow> parts_{};                   ///< finished runs of the whole model, by line
  std::optional<SpeedWatch> watch_{};                           ///< unset if the back end cannot run the reference kernel
  SpeedLook last_look_{};
};

/// How much the speed of a device varied while a profile was measured.
struct Steadiness {
  double slowest = 1;     ///< slowest reading: time of the reference kernel / time at full speed
  double slow_share = 0;  ///< share of speed readings that are more than a tenth slower than full speed
  double lowest_clock_hz = 0, highest_clock_hz = 0;  ///< range over the rows; 0 if the driver did not report it
  /// The driver's reasons for lower clocks, each with the share of rows that report this reason.
  std::vector<std::pair<std::string, double>> slowed_by{};
};
[[nodiscard]] Steadiness steadiness_of(const Profile& profile);

/// The time of one step of a model as a whole compared with the sum of its separately measured problems.
struct SumCheck {
  std::int64_t samples = 1;
  Precision precision = Precision::fp32;
  Optimizer optimizer = Optimizer::sgd;
  bool graph = false;  ///< whether the step was a CUDA graph
  Seconds whole{}, parts{};
  int kernels = 0;  ///< number of kernels that have work to do
  /// The error of the sum: parts / whole − 1.
  [[nodiscard]] double error() const { return parts / whole - 1; }
};
/// Compares every whole step of the model with the sum of its problems. The times are means of all
/// samples, because means add up. Steps for which the profile lacks a problem are omitted.
[[nodiscard]] std::vector<SumCheck> sum_checks(const Profile& profile, const Model& model);

}  // namespace ddl
