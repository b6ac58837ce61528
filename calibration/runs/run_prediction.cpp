#include "calibration/runs/run_prediction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/own_coefficients.hpp"
#include "calibration/inputs/plan_degrees.hpp"
#include "core/error.hpp"
#include "estimator/layers/host_launches.hpp"
#include "estimator/memory/memory_timeline.hpp"
#include "estimator/step/step_sensitivity.hpp"
#include "model_zoo/files/bundled_name.hpp"
#include "model_zoo/files/load_model.hpp"

namespace ddl {
namespace {

/// The number of tiles per dimension for `parts` tiles that are as close to squares or cubes as possible.
std::array<int, 3> spatial_split(int parts, int rank) {
  std::array<int, 3> split{1, 1, 1};
  for (int factor = 2, left = parts; left > 1; ++factor) {
    while (left % factor == 0) {
      int least = 0;
      for (int d = 1; d < rank; ++d) {
        if (split[static_cast<std::size_t>(d)] < split[static_cast<std::size_t>(least)]) least = d;
      }
      split[static_cast<std::size_t>(least)] *= factor;
      left /= factor;
    }
  }
  return split;
}

/// Sets the degrees of a run that gives only its strategy and its number of devices. If this is not
/// possible, returns the reason; otherwise returns an empty text.
std::string divide(Plan& plan, const MeasuredRun& run, const Study& study, Family family) {
  const int gpus = *run.gpus;
  const int node = run.gpus_per_node.value_or(study.machine().devices_per_node());
  // In a hybrid, the first degree is across nodes and the second degree inside a node, as in the measured implementations.
  const bool hybrid = (family & (family - 1)) != 0;
  if (hybrid && (family & family_bit(Axis::data)) == 0) return "the degrees of the strategy are missing";
  if (hybrid && gpus % node != 0) return fmt::format("{} GPUs are not a multiple of the {} per node", gpus, node);
  const int inner = hybrid ? node : gpus;
  if (hybrid) plan.mesh.set(Axis::data, gpus / node);
  int splits = 0;
  for (const Axis axis : all_axes) {
    if ((family & family_bit(axis)) == 0 || (hybrid && axis == Axis::data)) continue;
    ++splits;
    if (axis == Axis::spatial) {
      plan.mesh.set_tiles(spatial_split(inner, study.model().input.rank));
    } else {
      plan.mesh.set(axis, inner);
    }
  }
  if (splits > 1) return "the degrees of the strategy are missing";
  return {};
}

/// Fills in choices that the run does not give. If the software supports only one value of a choice, this value is used.
void choose_only_one(Plan& plan, const MeasuredRun& run, const Study& study) {
  for (const PlanChoiceRow& row : plan_choices()) {
    const std::optional<std::vector<int>>& admitted = study.software().admits[row.choice];
    if (!run.chosen[row.choice] && admitted && admitted->size() == 1) row.set(plan, admitted->front());
  }
}

std::variant<Plan, Unpredictable> plan_of(const MeasuredRun& run, const Study& study) {
  const std::optional<Family> family = parse_family(run.strategy);
  if (!family) return Unpredictable{fmt::format("unknown strategy '{}'", run.strategy)};
  if (!run.gpus) return Unpredictable{"the number of GPUs is missing"};
  Plan plan;
  plan.precision = study.precision();
  plan.optimizer = study.optimizer();
  if (!run.degrees.empty()) {
    parse_layouts(run.degrees, plan, "in the cell");
  } else if (const std::string why = divide(plan, run, study, *family); !why.empty()) {
    return Unpredictable{why};
  }
  run.chosen.apply(plan);
  choose_only_one(plan, run, study);

  double batch = 0;
  if (run.global_batch) {
    batch = *run.global_batch;
  } else if (run.batch_per_gpu_or_node) {
    // The batch is per GPU for data parallelism, per group of the second degree for hybrids, and for all GPUs together
    // otherwise.
    batch = *run.batch_per_gpu_or_node * static_cast<double>(plan.mesh.batch_parts());
  } else {
    return Unpredictable{"the batch is missing"};
  }
  if (batch < 1 || batch > 1e12) return Unpredictable{"the batch is not a number of samples"};
  plan.global_batch = static_cast<std::int64_t>(std::llround(batch));
  const std::int64_t most = std::max<std::int64_t>(1, plan.global_batch / plan.mesh.batch_parts());
  if (run.micro_batch) {
    plan.micro_batches = most / *run.micro_batch + (most % *run.micro_batch != 0 ? 1 : 0);
  } else if (plan.mesh[Axis::pipeline] > 1) {
    // If the run gives no number of micro-batches, four per stage are assumed, with which the bubble is a fifth [Huang et
    // al., GPipe], but at most one per sample of a replica.
    plan.micro_batches = std::min(most, std::int64_t{4} * plan.mesh[Axis::pipeline]);
  }
  return plan;
}

std::variant<Seconds, Unpredictable> quantity_of(const std::string& quantity, const Estimate& estimate) {
  const Breakdown& time = estimate.time;
  // In a measurement, waiting for the host counts as compute.
  const Seconds waiting = time[Part::waiting] - estimate.host_waiting;
  const Seconds exchanged =
      time[Part::gradient_exchange] + time[Part::layer_collectives] + time[Part::halo] + time[Part::pipeline] + waiting;
  const double steps = time.step_time().value() > 0 ? estimate.epoch / time.step_time() : 0.0;
  const Seconds computed = time.compute() + time[Part::bubble] + estimate.host_waiting;
  if (quantity == "iter_total_s" || quantity == "iter_total_best_epoch_s") return time.step_time();
  if (quantity == "iter_without_update_s") return time.step_time() - time[Part::weight_update];
  if (quantity == "iter_comp_s") return computed;
  if (quantity == "iter_comm_s") return exchanged;
  if (quantity == "iter_forward_s") return time[Part::forward];
  if (quantity == "iter_backward_s") return time[Part::backward];
  if (quantity == "iter_forward_backward_s") return time.step_time() - time[Part::weight_update];
  if (quantity == "iter_comm_gradient_allreduce_s") return time[Part::gradient_exchange];
  if (quantity == "iter_comm_halo_s") return time[Part::halo];
  if (quantity == "epoch_s") return estimate.epoch;
  if (quantity == "epoch_comp_s") return computed * steps;
  if (quantity == "epoch_comm_s") return exchanged * steps;
  if (quantity == "epoch_forward_s") return time[Part::forward] * steps;
  if (quantity == "epoch_backward_s") return time[Part::backward] * steps;
  if (quantity == "epoch_weight_update_s") return time[Part::weight_update] * steps;
  return Unpredictable{fmt::format("no prediction for the quantity '{}'", quantity)};
}

/// Whether a quantity is the time of whole steps, with or without the update. Prediction errors are
/// known only for such times.
bool is_of_steps(const std::string& quantity) {
  return quantity == "iter_total_s" || quantity == "iter_without_update_s" || quantity == "iter_forward_backward_s" ||
         quantity == "iter_total_best_epoch_s" || quantity == "epoch_s";
}

}  // namespace

MeasuredRun in_seconds(MeasuredRun run) {
  if (run.quantity == "samples_per_s_per_gpu" && run.global_batch && run.gpus && run.value > 0) {
    const auto seconds = [&](double rate) { return *run.global_batch / (rate * *run.gpus); };
    run.value = seconds(run.value);
    if (run.first_predicted) run.first_predicted = seconds(*run.first_predicted);
    run.quantity = "iter_total_s";
  }
  return run;
}

RunPredictor::RunPredictor(std::string machine, std::string coefficients, const ProfileChoice& profiles,
                           std::string software, KnownKernels known_kernels)
    : machine_(std::move(machine)),
      coefficients_name_(std::move(coefficients)),
      software_(std::move(software)),
      known_kernels_(known_kernels) {
  StudySpec shared;
  shared.machine = machine_;
  shared.coefficients = coefficients_name_;
  sheet_ = load_machine(machine_);
  coefficients_ = coefficients_of(shared, sheet_);
  shared.software = software_;
  const SoftwareFile measured = software_of(shared, sheet_, coefficients_);
  // The coefficients were fitted to runs of one software. If the caller names no software, the software of the coefficients
  // is assumed for runs of every model.
  if (software_.empty() && !coefficients_.software.name.empty() && !measured.name.empty()) software_ = measured.name;
  profiles_ = std::make_shared<const FoundProfiles>(find_profiles(profiles, sheet_));
}

std::vector<std::string> RunPredictor::profile_warnings() const {
  std::vector<std::string> warnings = profiles_->warnings;
  for (std::string& unused : unused_profiles_text(*profiles_, sheet_)) warnings.push_back(std::move(unused));
  const std::optional<OwnCoefficients> own = own_coefficients(machine_);
  if (own && !coefficients_name_.empty() && coefficients_name_ != "none" && own->path != coefficients_name_)
    warnings.push_back(fmt::format("{} is not used: --coefficients names {} instead", own->path, coefficients_name_));
  return warnings;
}

const std::optional<std::string>& RunPredictor::problem_of(const std::string& model) {
  const auto [entry, added] = problems_.try_emplace(model);
  if (added) {
    try {
      models_.emplace(model, load_model(model));
    } catch (const Error& error) {
      entry->second = error.what();
    }
  }
  return entry->second;
}

const std::optional<std::string>& RunPredictor::problem_of_software(const std::string& software) {
  const auto [entry, added] = software_problems_.try_emplace(software);
  if (added && !software.empty() && software != no_software) {
    try {
      static_cast<void>(load_software(software));
    } catch (const Error& error) {
      entry->second = error.what();
    }
  }
  return entry->second;
}

const Study& RunPredictor::study(const MeasuredRun& run, bool ideal) {
  const Precision precision = run.precision.value_or(Precision::fp32);
  const bool input = !ideal && (run.includes_io == "yes" || run.includes_io == "probably");
  // The closed forms do not depend on software.
  const std::string software = ideal ? std::string(no_software) : run.software.empty() ? software_ : run.software;
  std::unique_ptr<Study>& entry = studies_[{run.model, precision, run.optimizer, ideal, input, software, run.settings}];
  if (!entry) {
    StudySpec spec;
    spec.model = run.model;
    spec.machine = machine_;
    spec.coefficients = coefficients_name_;
    spec.software = software;
    // The closed forms use only the framework's settings about memory.
    run.settings.for_each([&](const SettingRow& row, const SettingValue& value) {
      if (!ideal || row.has_column) spec.settings.set(row, value);
    });
    spec.found_profiles = profiles_;
    spec.known_kernels = known_kernels_;
    spec.precision = precision;
    spec.optimizer = run.optimizer;
    if (ideal) spec.assumptions = ideal_assumptions();
    spec.reads_dataset = input;
    if (!input) spec.settings.set("input", {input_none, SettingOrigin::run, {}});
    StudyInputs inputs;
    const auto known = models_.find(run.model);
    inputs.model = known != models_.end() ? known->second : load_model(run.model);
    inputs.dataset = load_dataset(default_dataset(inputs.model));
    inputs.machine = sheet_;
    inputs.coefficients = coefficients_;
    inputs.software = software_of(spec, sheet_, coefficients_, inputs.model.input.sequence);
    inputs.profiles = profiles_;
    entry = std::make_unique<Study>(spec, std::move(inputs));
  }
  return *entry;
}

Seconds RunPredictor::launch_overhead(const MeasuredRun& run) {
  if (coefficients_.software.launch_overhead) return *coefficients_.software.launch_overhead;
  if (problem_of(run.model) || problem_of_software(run.software)) return Seconds{};
  return ddl::launch_overhead(study(run, false).job());
}

StepTemplate RunPredictor::step_template(const MeasuredRun& run, const Coefficients& coefficients) {
  const Study& own = study(run, false);
  const Job job = own.job().with_coefficients(own.completed(coefficients));
  return Estimator(job).steps().step_template(std::get<Plan>(plan_of(run, own)));
}

/// The job is on the heap, because the estimator refers to it.
struct RunPredictor::Estimated {
  const Study* study = nullptr;
  std::unique_ptr<Job> job;
  std::unique_ptr<Estimator> estimator;
  Estimate estimate;
};

std::variant<RunPredictor::Estimated, Unpredictable> RunPredictor::estimated(const MeasuredRun& run,
                                                                             const Coefficients& coefficients, bool ideal) {
  if (const std::optional<std::string>& problem = problem_of(run.model)) return Unpredictable{*problem};
  if (const std::optional<std::string>& problem = problem_of_software(run.software)) return Unpredictable{*problem};
  if (!run.machine.empty() && name_key(run.machine) != name_key(machine_))
    return Unpredictable{fmt::format("the run was measured on {}", run.machine)};
  const Study* asked = nullptr;
  try {
    asked = &study(run, ideal);
  } catch (const Error& error) {  // an example is a precision that the machine lacks
    return Unpredictable{error.what()};
  }
  const Study& own = *asked;
  const auto plan = plan_of(run, own);
  if (const auto* why = std::get_if<Unpredictable>(&plan)) return *why;
  // Uses the job of the study with other coefficients. Kernel times do not depend on them.
  Estimated all{&own, std::make_unique<Job>(own.job().with_coefficients(own.completed(coefficients))), nullptr, {}};
  all.estimator = std::make_unique<Estimator>(*all.job);
  all.estimate = all.estimator->estimate(std::get<Plan>(plan));
  // A measured run did fit into memory, so its time is predicted even if its estimated memory exceeds the device's memory.
  for (const Limit& limit : all.estimate.limits) {
    if (limit.kind == Limit::Kind::memory) continue;
    const Model& model = own.model();
    return Unpredictable{BrokenLimit{
        limit, model.name, limit.layer < 0 ? std::string() : model.layers[static_cast<std::size_t>(limit.layer)].name}};
  }
  return all;
}

RunPredictor::Prediction RunPredictor::predict(const MeasuredRun& run, const Coefficients& coefficients, bool ideal,
                                               PredictionDetails* details) {
  if (details != nullptr) *details = {};
  auto all = estimated(run, coefficients, ideal);
  if (const auto* why = std::get_if<Unpredictable>(&all)) return *why;
  const auto& [study, job, estimator, estimate] = std::get<Estimated>(all);
  if (details != nullptr) {
    if (!ideal) details->verdict = estimate.verdict;
    details->largest = estimate.memory.largest();
    details->filled = estimate.memory.total() / job->machine.device.memory;
    if (is_of_steps(run.quantity) && estimate.time.step_time() > Seconds{})
      details->sensitivity = sensitivity(*estimator, estimate.plan);
  }
  return quantity_of(run.quantity, estimate);
}

std::variant<MemoryPrediction, Unpredictable> RunPredictor::predict_memory(const MeasuredRun& run) {
  auto all = estimated(run, coefficients_, false);
  if (const auto* why = std::get_if<Unpredictable>(&all)) return *why;
  auto& [study, job, estimator, estimate] = std::get<Estimated>(all);
  add_reserved(*estimator, estimate);
  const ModelFacts& facts = job->facts;
  const bool has_sequences = study->model().input.sequence;
  const bool has_adapters = has_sequences && facts.trained_parameters < facts.parameters;
  MemoryBreakdown measured = estimate.memory;
  if (!run.stage.empty() && !job->assumptions.memory_reuse) {
    const Plan& plan = estimate.plan;
    const int stage = run.stage == "last" ? plan.mesh[Axis::pipeline] - 1 : 0;
    measured = estimator->memories().memory(plan, estimator->stages(plan), stage);
    TimelineOptions options;
    options.details = false;
    if (!plan.offload_activations)
      measured.peak_reserved = memory_timeline(estimator->stage(plan, stage), options).peak_reserved;
  }
  return MemoryPrediction{estimate.memory,
                          measured,
                          verdict_of(estimate.memory, job->machine.device.memory),
                          job->machine.device.memory,
                          has_sequences,
                          has_adapters,
                          facts.has_attention};
}

}  // namespace ddl
