#include "cli/commands/job_check.hpp"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "calibration/machine_reader.hpp"
#include "cli/options/job_file.hpp"
#include "cli/sentences/sentences.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/yaml_node.hpp"
#include "model_zoo/dataset.hpp"
#include "model_zoo/model.hpp"

namespace ddl {
namespace {

/// What `action` returns; its error placed at the node, unless it has a place in another file.
template <class Action>
auto placed_at(const YamlNode& node, const Action& action) {
  try {
    return action();
  } catch (const Error& error) {
    if (error.place()) throw;
    node.fail(error.what(), error.hint());
  }
}

/// Each part by itself, so that what is wrong is said of the word that names it.
std::shared_ptr<Study> study_of(const ParsedJob& parsed, const std::string& folder) {
  const StudySpec spec = spec_of(parsed.job, folder);
  StudyInputs inputs;
  inputs.model = placed_at(parsed.place({spec.sequence ? "sequence" : "model", "model"}),
                           [&] { return load_model(spec.model, spec.sequence); });
  inputs.machine = placed_at(parsed.place({"machine"}), [&] { return load_machine(spec.machine); });
  inputs.dataset = placed_at(parsed.place({"dataset"}), [&] {
    return load_dataset(spec.dataset.empty() ? default_dataset(inputs.model) : spec.dataset);
  });
  inputs.coefficients = placed_at(parsed.place({"coefficients"}), [&] { return coefficients_of(spec, inputs.machine); });
  inputs.software = placed_at(parsed.place({"software"}), [&] { return software_of(spec, inputs.coefficients); });
  inputs.profiles = placed_at(parsed.place({"profiles"}), [&] {
    return std::make_shared<const FoundProfiles>(find_profiles(spec.profiles, inputs.machine));
  });
  const auto spreads = [](const Coefficients& known) { return !known.congestion.empty() || known.exchanges.has_spread(); };
  // What is left is a precision that the device lacks, congestion that nobody measured, and a data set that is not of the
  // model.
  const bool lacks_precision = spec.precision && !inputs.machine.device.peak_at(*spec.precision);
  const bool lacks_spread = spec.assumptions.congestion_quantile && !spreads(inputs.coefficients);
  return placed_at(lacks_precision ? parsed.place({"precision"})
                   : lacks_spread  ? parsed.place({"congestion"})
                                   : parsed.place({"dataset", "model"}),
                   [&] { return std::make_shared<Study>(spec, std::move(inputs)); });
}

void judge_into(JobCheck& check, const CheckOptions& options) {
  const ParsedJob parsed = parse_job(read_file(check.file, YamlNode::max_bytes), check.file);
  const JobFile& job = parsed.job;
  const YamlNode plan_node = parsed.place({"plan"});
  check.line = plan_node.line();
  check.column = plan_node.column();
  check.batch_per_gpu = job.batch_per_gpu.has_value();
  check.study = study_of(parsed, std::filesystem::path(check.file).parent_path().string());
  const Study& study = *check.study;

  const std::optional<Bytes>& asked = options.gpu_memory ? options.gpu_memory : job.gpu_memory;
  check.device_memory = asked.value_or(study.machine().device.memory);
  check.margin = options.margin.value_or(job.margin.value_or(Margin{})).of(check.device_memory);
  if (check.margin >= check.device_memory) {
    const std::string message = fmt::format("a margin of {} leaves nothing of {}", print_quantity(check.margin),
                                            print_quantity(check.device_memory));
    const char* hint = "make it smaller than the memory of a device";
    if (options.margin) throw Error("--margin: " + message, hint);
    parsed.place({"margin"}).fail(message, hint);
  }

  Plan plan = job.plan;
  plan.precision = study.precision();
  plan.optimizer = study.optimizer();
  Machine machine = study.machine();
  machine.device.memory = check.available();
  const Job within = study.job().with_machine(std::move(machine));
  const Estimator estimator(within);
  std::optional<MemoryCheck> checked = check_memory(estimator, plan);
  if (!checked) {
    for (const Limit& limit : estimator.estimate(plan).limits) {
      if (limit.kind == Limit::Kind::memory) continue;
      plan_node.fail(fmt::format("the plan '{}' cannot be: {}", degrees_text(plan.mesh), describe(limit, study.model())),
                     "'ddl-oracle recommend' finds one that can");
    }
  }
  check.checked = *std::move(checked);
  check.largest = largest_batch(estimator, plan);
  check.fewest = fewest_devices(estimator, plan, check.batch_per_gpu ? BatchKept::per_device : BatchKept::global);
  check.remedies = remedies(estimator, check.checked);
}

}  // namespace

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
