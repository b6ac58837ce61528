#include "cli/commands/job_check.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/machine_reader.hpp"
#include "cli/documents/configuration.hpp"
#include "cli/documents/intervals.hpp"
#include "cli/documents/out_of_core.hpp"
#include "cli/options/configurations/configuration.hpp"
#include "cli/options/configurations/configured_parts.hpp"
#include "cli/options/configurations/recognition.hpp"
#include "cli/options/job_file.hpp"
#include "cli/options/layer_layouts.hpp"
#include "cli/report/figures.hpp"
#include "cli/report/interrupt.hpp"
#include "cli/report/progress.hpp"
#include "cli/sentences/sentences.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/source_text.hpp"
#include "core/yaml_node.hpp"
#include "model_zoo/files/bundled_name.hpp"
#include "model_zoo/files/canonical_name.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "model_zoo/network/packed_sequences.hpp"

namespace ddl {
namespace {

/// Arguments of all tools that can only lower memory. Sources: the documentation of each tool, as cited in its table in
/// cli/tools.
constexpr std::array<std::string_view, 27> savers{
    // The optimizer updates a weight when its gradient appears, so no gradient stays.
    "*optimizer_in_bwd", "*optimizer_in_backward", "*early_step_in_backward", "*gradient_release", "*lomo*",
    // Optimizers with a state of low rank, or for a part of the weights at a time.
    "*use_galore", "*galore_*", "*use_badam", "*badam_*", "*use_apollo", "*apollo_*", "*lisa_*",
    // Operators that keep fewer activations.
    "*use_unsloth", "*unsloth_*", "*liger_*", "*use_liger*", "*tiled_mlp*", "*use_fused_kernels",
    // Kept tensors are moved to the host, sharded or quantized.
    "*partition_activations", "*cpu_offload*", "*offload_*", "*activation_offload*", "*gptq", "*quant_method",
    "*reuse_fp32_param", "*swap_attention", "*swap_optimizer"};

/// Arguments of all tools by which parts of the model are not trained.
constexpr std::array<std::string_view, 1> freezers{"*freeze_*"};

/// Arguments of all tools that raise memory: adapters with a norm of each whole matrix [Liu et al., "DoRA", ICML 2024], and
/// modules that are trained whole.
constexpr std::array<std::string_view, 4> raisers{"*use_dora", "*use_dora_*", "*modules_to_save", "*additional_target"};

const ConfigEntry* first_of(std::span<const std::string_view> arguments, const Configuration& configuration) {
  const auto& all = configuration.not_modeled;
  return find_where(all, [&](const ConfigEntry& each) { return is_among(arguments, argument_key(each.key)); });
}

/// Returns the first argument that is not modeled and can only lower memory; null if there is none. With such an argument, a
/// job may fit although the prediction does not.
const ConfigEntry* unmodeled_saver(const Configuration& configuration) {
  const ConfigEntry* const saver = first_of(savers, configuration);
  return saver != nullptr ? saver : first_of(freezers, configuration);
}

/// Returns the first argument that is not modeled and raises memory; null if there is none. With such an argument, a job may
/// not fit although the prediction does. `model`: the predicted model.
const ConfigEntry* unmodeled_raiser(const Configuration& configuration, const Model& model, Optimizer optimizer) {
  // Matrices that are not projected have Adam's whole state.
  if (const ConfigEntry* const modules = partly_projected(configuration, optimizer)) return modules;
  const ConfigEntry* const module = unknown_trained_module(configuration, model);
  return module != nullptr ? module : first_of(raisers, configuration);
}

/// Returns the result of `action`. If `action` throws an Error without a position, the Error gets the position of the node.
template <class Action>
auto placed_at(const YamlNode& node, const Action& action) {
  try {
    return action();
  } catch (const Error& error) {
    if (error.place()) throw;
    node.fail(error.what(), error.hint());
  }
}

/// Loads the study of a job. Each input is loaded separately, so that an error points at the word that names the input.
std::shared_ptr<Study> study_of(const ParsedJob& parsed, const std::string& folder, const MemoryOptions& options) {
  StudySpec spec = spec_of(parsed.job, folder);
  if (options.gpu_memory) spec.device_memory = options.gpu_memory;
  if (options.margin) spec.margin = *options.margin;
  StudyInputs inputs;
  inputs.model = placed_at(parsed.place({spec.sequence ? "sequence" : "model", "model"}),
                           [&] { return load_model(spec.model, spec.sequence); });
  if (spec.packed_length)
    placed_at(parsed.place({"packed_length"}), [&] { pack_sequences(inputs.model, *spec.packed_length); });
  inputs.machine = placed_at(parsed.place({"machine"}), [&] { return load_machine(spec.machine); });
  const auto refuse_margin = [&] {
    static_cast<void>(available_memory(spec.device_memory.value_or(inputs.machine.device.memory), spec.margin));
  };
  if (options.margin) {
    try {
      refuse_margin();
    } catch (const Error& error) {
      throw Error(std::string("--margin: ") + error.what(), error.hint());
    }
  }
  placed_at(parsed.place({"margin"}), refuse_margin);
  inputs.dataset = placed_at(parsed.place({"dataset"}), [&] { return dataset_of(spec.dataset, inputs.model); });
  inputs.coefficients = placed_at(parsed.place({"coefficients"}), [&] { return coefficients_of(spec, inputs.machine); });
  inputs.software = placed_at(parsed.place({"software"}), [&] {
    return software_of(spec, inputs.machine, inputs.coefficients, inputs.model.input.sequence);
  });
  inputs.profiles = placed_at(parsed.place({"profiles"}), [&] {
    return std::make_shared<const FoundProfiles>(find_profiles(spec.profiles, inputs.machine));
  });
  const auto spreads = [](const Coefficients& known) { return !known.congestion.empty() || known.exchanges.has_spread(); };
  // Only three errors can still occur: the device lacks the precision, the congestion was not
  // measured, or the data set does not match the model.
  const bool lacks_precision = spec.precision && !inputs.machine.device.peak_at(*spec.precision);
  const bool lacks_spread = spec.settings.find("congestion") != nullptr && !spreads(inputs.coefficients);
  return placed_at(lacks_precision ? parsed.place({"precision"})
                   : lacks_spread  ? parsed.place({"congestion"})
                                   : parsed.place({"dataset", "model"}),
                   [&] { return std::make_shared<Study>(spec, std::move(inputs)); });
}

/// The distance between two tried sequence lengths, in tokens. For short sequences, the distance is
/// an eighth of the model's own sequence length.
constexpr std::int64_t sequence_step = 1024;
constexpr std::int64_t most_sequence_tokens = 1 << 24;

/// Finds the longest sequences with which the plan fits; empty if the model has no sequence length.
std::optional<LongestSequence> longest_sequence(const Study& study, const Plan& plan, const GoOn& go_on) {
  const std::int64_t own = study.model().sequence_length;
  if (own <= 0) return std::nullopt;
  const std::int64_t step = std::max<std::int64_t>(1, std::min(sequence_step, own / 8));
  std::map<std::int64_t, Verdict> known;
  const auto verdict_at = [&](std::int64_t steps) {
    const auto [entry, is_new] = known.try_emplace(steps, Verdict::does_not_fit);
    if (is_new) {
      StudySpec spec = study.spec();
      spec.sequence = steps * step;
      if (spec.packed_length) spec.packed_length = std::min(*spec.packed_length, *spec.sequence);
      const Study other(spec);
      if (const auto checked = check_memory(Estimator(other.job()), plan)) entry->second = checked->verdict;
    }
    return entry->second;
  };
  const auto last_within = [&](Verdict worst) {
    std::int64_t low = 0, high = 1;
    for (; high * step <= most_sequence_tokens && go_on() && verdict_at(high) <= worst; high *= 2) low = high;
    while (high - low > 1 && go_on()) {
      const std::int64_t middle = low + (high - low) / 2;
      (verdict_at(middle) <= worst ? low : high) = middle;
    }
    return low * step;
  };
  try {
    return LongestSequence{.fits = last_within(Verdict::fits), .at_risk = last_within(Verdict::at_risk)};
  } catch (const Error&) {  // the model has no parameter for the sequence length
    return std::nullopt;
  }
}

/// Adds the verdict on a plan with a possible shape, and the changes with which the plan would fit. The search for changes
/// ends after `limit`, or when the user asks.
void judge_plan(JobCheck& check, const Estimator& estimator, const Plan& plan, MemoryCheck checked,
                std::optional<Seconds> limit) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const double seconds = limit.value_or(usual_check_limit).value();
  LateProgress progress("parts of the check");
  constexpr std::size_t parts = 5;
  std::size_t done = 0;
  const GoOn go_on = [&] {
    progress.show(done, parts);
    const bool is_late = std::chrono::duration<double>(Clock::now() - start).count() >= seconds;
    check.stopped = check.stopped || is_late || Interrupt::asked();
    return !check.stopped;
  };
  const Study& study = *check.study;
  check.checked = std::move(checked);
  add_intervals(check.checked.estimate, study, estimator);
  check.largest = largest_batch(estimator, plan);
  ++done;
  check.fewest = fewest_devices(estimator, plan, check.batch_per_gpu ? BatchKept::per_device : BatchKept::global, go_on);
  if (check.fewest) add_intervals(check.fewest->estimate, study, estimator);
  ++done;
  check.longest = longest_sequence(study, plan, go_on);
  ++done;
  check.remedies = remedies(estimator, check.checked, study.software().admits, go_on);
  for (Remedy& each : check.remedies) add_intervals(each.checked.estimate, study, estimator);
  ++done;
  if (go_on()) check.out_of_core = fitting_out_of_core(estimator, check.checked);
}

/// Throws Error if the verdict on a configuration depends on an argument whose effect is unknown.
void refuse_unknown_memory(const Configuration& read, const MemoryCheck& checked, const Model& model, Bytes available) {
  const bool fits = checked.verdict == Verdict::fits;
  const ConfigEntry* const raiser = fits ? unmodeled_raiser(read, model, checked.estimate.plan.optimizer) : nullptr;
  if (raiser != nullptr) {
    throw raiser->error(fmt::format("'{}' raises memory, but is not modeled: without it, the job needs {} of {}",
                                    visible(raiser->key), humanize(checked.estimate.memory.total()), humanize(available)),
                        "only a run shows whether the job fits; without the argument, the job fits");
  }
  if (checked.verdict != Verdict::does_not_fit) return;
  if (const ConfigEntry* const saver = unmodeled_saver(read)) {
    throw saver->error(fmt::format("'{}' lowers memory, but is not modeled: without it, the job needs {} of {}",
                                   visible(saver->key), humanize(checked.estimate.memory.total()), humanize(available)),
                       "only a run shows whether the job fits; without the argument, the job does not fit");
  }
}

/// Throws Error for a file with arguments that was not read, because these arguments may decide the verdict.
void refuse_unread_files(const Configuration& read) {
  if (read.unread_files.empty()) return;
  const ConfigEntry& entry = read.unread_files.front();
  throw entry.error(fmt::format("the file {} is not read, so its arguments are unknown", quote(entry.value)),
                    entry.is_of_branches ? "use --set NAME=VALUE to choose the branch that writes the file"
                    : entry.is_known     ? "put the file next to this one, or make its path relative to the current folder"
                                         : "set the file's name with --set NAME=VALUE");
}

/// Checks the plan of another tool's configuration, with the options on the command line.
void judge_configuration(JobCheck& check, ConfiguredPlan configured, const CheckOptions& options) {
  const Configuration& read = configured.configuration;
  const auto is_given = [&](const std::string& option) { return contains(options.given, option); };
  refuse_unread_files(read);
  ConfiguredOptions asked = options_of(read, options.study, options.plan, is_given);
  asked.study.memory = options.memory;
  const PlanStudy own = plan_study(asked.study, asked.own);
  check.study = own.study;
  check.device_memory = check.study->device_memory();
  check.margin = check.study->margin();
  for (const ConfigField field : {ConfigField::tensor, ConfigField::pipeline, ConfigField::context, ConfigField::micro_batch,
                                  ConfigField::global_batch}) {
    if (!read.writes(field)) continue;
    const Place place = read.find(field)->from->place();
    check.line = place.line;
    check.column = place.column;
    break;
  }
  const Estimator estimator(check.study->job());
  std::optional<MemoryCheck> checked = check_memory(estimator, *own.plan);
  if (!checked) {
    configured.estimate = estimator.estimate(*own.plan);
    refuse_impossible(configured, check.study->model());
    throw Error(fmt::format("the plan of {} is not possible", quote(check.file)));
  }
  refuse_unknown_memory(read, *checked, check.study->model(), check.available());
  check.notes = read.warnings;
  check.notes.insert(check.notes.end(), asked.warnings.begin(), asked.warnings.end());
  if (!read.not_modeled.empty()) {
    std::string names;
    for (const ConfigEntry& setting : read.not_modeled)
      names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", visible(setting.shown_key()), line_text(setting.place()));
    check.notes.push_back("not modeled: " + names);
  }
  judge_plan(check, estimator, *own.plan, *std::move(checked), options.time_limit);
}

/// Parses a job file. If options for configurations are given, but none of the files is a
/// configuration, throws Error, because a job file is complete by itself.
ParsedJob parsed_job(const std::string& file, const CheckOptions& options) {
  const std::string text = read_file(file, YamlNode::max_bytes);
  if (options.given.empty() || options.has_configurations) return parse_job(text, file);
  try {
    static_cast<void>(parse_job(text, file));
  } catch (const Error&) {
    static_cast<void>(read_configuration(file));  // a value that means "none"
    throw;
  }
  throw Error(
      fmt::format("{} is for configurations of other tools, but {} is a job file", options.given.front(), quote(file)),
      options.given.front() == "--input-shape" ? "name the model with its shape in the job file: net.onnx@input=3x512x512"
                                               : "set the value in the job file");
}

void judge_job(JobCheck& check, const CheckOptions& options) {
  const ParsedJob parsed = parsed_job(check.file, options);
  if (!options.given.empty()) {
    check.notes.push_back(
        fmt::format("{} is a job file, which does not take {}", quote(check.file), fmt::join(options.given, ", ")));
  }
  const JobFile& job = parsed.job;
  const YamlNode plan_node = parsed.place({"plan"});
  check.line = plan_node.line();
  check.column = plan_node.column();
  check.batch_per_gpu = job.batch_per_gpu.has_value();
  check.study = study_of(parsed, std::filesystem::path(check.file).parent_path().string(), options.memory);
  const Study& study = *check.study;
  check.device_memory = study.device_memory();
  check.margin = study.margin();

  Plan plan = job.plan;
  plan.precision = study.precision();
  plan.optimizer = study.optimizer();
  placed_at(plan_node.find("layers").value_or(plan_node), [&] { lay_out_layers(job.layers, study.job().facts, plan); });
  const Estimator estimator(study.job());
  for (std::string& note : without_effect_on(plan_word(plan), keys_without_effect(study, plan)))
    check.notes.push_back(std::move(note));
  std::optional<MemoryCheck> checked = check_memory(estimator, plan);
  if (!checked) {
    for (const Limit& limit : estimator.estimate(plan).limits) {
      if (limit.kind == Limit::Kind::memory) continue;
      plan_node.fail(
          fmt::format("the plan '{}' is not possible: {}", degrees_text(plan.mesh), describe(limit, study.model())),
          "'ddl-oracle recommend' finds a possible one");
    }
  }
  judge_plan(check, estimator, plan, *std::move(checked), options.time_limit);
}

/// Throws Error if a model is given in place of a file.
void refuse_model(const std::string& file) {
  std::error_code unknown;
  if (std::filesystem::exists(file, unknown) || is_path(file)) return;
  const std::vector<std::string> models = model_names();
  if (!contains(models, canonical_model_name(file.substr(0, file.find('@'))))) return;
  throw Error(
      fmt::format("{} is a model, but 'check' takes a job file", quote(file)),
      fmt::format("'ddl-oracle recommend {} --gpus 1' says whether it fits; --save-job job.yaml writes a job", file));
}

void judge_into(JobCheck& check, const CheckOptions& options) {
  refuse_model(check.file);
  if (std::optional<Configuration> read = recognize_configuration(check.file, script_values_in(options.set_words))) {
    judge_configuration(check, {.configuration = *std::move(read), .estimate = {}}, options);
  } else {
    judge_job(check, options);
  }
}

}  // namespace

bool is_configuration(const std::string& file) {
  try {
    return recognize_configuration(file).has_value();
  } catch (const Error&) {  // the error is reported when the file is checked
    return false;
  }
}

JobCheck check_job(const std::string& file, const CheckOptions& options) {
  JobCheck check;
  check.file = file;
  try {
    judge_into(check, options);
  } catch (const Error& error) {
    const Place whole_file;
    const Place& place = error.place() && error.place()->file == file ? *error.place() : whole_file;
    check.problem = JobProblem{error.what(), error.hint(), place.line, place.column};
  }
  return check;
}

}  // namespace ddl
