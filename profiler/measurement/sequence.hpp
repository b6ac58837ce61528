#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_array.hpp"
#include "model_zoo/network/model.hpp"
#include "profiler/backends/kernel_backend.hpp"
#include "profiler/measurement/measurement.hpp"

namespace ddl {

/// Converts a name to one word without spaces and equals signs, for the line of a step.
[[nodiscard]] std::string one_word(std::string text);

/// A part of a training step.
enum class StepPart { forward, backward, update };
template <>
inline constexpr EnumNames<StepPart> enum_names<StepPart>{"forward", "backward", "update"};

/// How the host launches the kernels of a step.
enum class StepStart {
  kernels,  ///< one by one
  graph,    ///< all kernels of a part at once, as recorded (KernelBackend::record)
};

/// The problem of a profile row for a whole step of a model: `sequence model=resnet50 samples=4 precision=fp32 optimizer=sgd
/// pass=forward`. Further words may follow: `by=pytorch-1.13.1` if a framework ran the step, `launch=graph` if the device
/// ran captured graphs, without a host call per kernel, and `memory=kept` if the framework did not return memory to the
/// system between tensors.
struct SequenceProblem {
  std::string model;
  std::int64_t samples = 1;
  Precision precision = Precision::fp32;
  Optimizer optimizer = Optimizer::sgd;
  StepPart part = StepPart::forward;
  std::string by{};           ///< framework that ran the step; empty if the profiler's kernels ran one after the other
  bool keeps_memory = false;  ///< whether the framework keeps freed memory
  bool graph = false;         ///< whether the step was captured as a graph
};
[[nodiscard]] std::string print_problem(const SequenceProblem& problem);
/// Whether parse_sequence_problem applies to a line.
[[nodiscard]] bool is_sequence_problem(std::string_view line);
[[nodiscard]] SequenceProblem parse_sequence_problem(const std::string& line, const std::string& origin);

/// One training step of a whole model: every kernel of problems_of, layer by layer in the order of the graph, on tensors
/// that the previous layer has written. The time of the step is compared with the separately measured times of its kernels
/// (sum_check).
class Sequence {
 public:
  /// Prepares all kernels and allocates all tensors. Throws Error if the back end refuses a problem or memory runs out.
  Sequence(KernelBackend& backend, const Model& model, std::int64_t samples, Precision precision, Optimizer optimizer);
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;
  ~Sequence();

  /// Runs all kernels of one part. The parts of a step must follow one another.
  void run(StepPart part);
  /// Returns the work of run() as pieces of at most `piece` kernels.
  [[nodiscard]] TimedWork work(StepPart part, std::size_t piece);
  /// The number of kernels that have work to do.
  [[nodiscard]] int kernels(StepPart part) const;

 private:
  struct Step;
  struct Builder;
  std::vector<Step> steps_;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
  std::vector<std::unique_ptr<PreparedKernel>> kernels_;
};

/// Times whole steps part by part, one step per call. Steps run between problems of the same model, so that steps and
/// problems are measured under the same conditions.
class SequenceSampling {
 public:
  /// If the back end refuses the model, or the device fails, the measurements of all parts get the reason.
  SequenceSampling(KernelBackend& backend, const Model& model, std::int64_t samples, Precision precision,
                   Optimizer optimizer, StepStart start = StepStart::kernels);

  /// Runs one more step, and adds one sample to every part of the step.
  void step();
  [[nodiscard]] int steps() const { return static_cast<int>(seconds_.front().size()); }
  /// The mean time of the steps so far. At least one step must have been run.
  [[nodiscard]] Seconds mean() const;
  [[nodiscard]] bool failed() const { return sequence_ == nullptr; }
  /// One measurement per part, in the order of StepPart.
  [[nodiscard]] std::vector<Measurement> measurements(const SamplingRule& rule) const;

 private:
  KernelBackend& backend_;
  std::unique_ptr<Sequence> sequence_;
  std::vector<Measurement> parts_;
  std::array<TimedWork, 3> work_;
  std::array<std::vector<double>, 3> seconds_;
};

}  // namespace ddl
