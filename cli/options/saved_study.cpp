// The model, machine, software and settings of a saved report, for '--plan FILE'.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "calibration/inputs/machine_reader.hpp"
#include "cli/options/job_file.hpp"
#include "cli/options/plan_options.hpp"
#include "cli/options/price.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "model_zoo/files/load_model.hpp"

namespace ddl {
namespace {

/// Copies the study's options from a saved job, unless the user gives them. Returns the names of the copied options.
std::vector<std::string> take_job(StudyOptions& study, const JobFile& job, const std::string& folder,
                                  const Command& command) {
  std::vector<std::string> said;
  const StudySpec saved = spec_of(job, folder);
  const auto take = [&](const char* option, const auto& value, auto& into, bool is_given) {
    if (!is_given || command.count(option) > 0) return;
    into = value;
    said.emplace_back(option);
  };
  const auto take_name = [&](const char* option, const std::string& name, std::string& into) {
    take(option, name, into, !name.empty());
  };
  // The saved name contains the sizes of --input-shape, and rank and kind of the adapters.
  if (command.count("--input-shape") == 0 && command.count("--lora") == 0 && command.count("--adapter") == 0)
    take_name("--model", saved.model, study.model);
  take("--seq", saved.sequence, study.sequence, saved.sequence.has_value());
  take("--packed-length", saved.packed_length, study.packed_length, saved.packed_length.has_value());
  take_name("--dataset", saved.dataset, study.dataset);
  take_name("--machine", saved.machine, study.machine);
  take_name("--coefficients", saved.coefficients, study.coefficients);
  take_name("--software", saved.software, study.software);
  if (!saved.profiles.files.empty() && command.count("--profile") == 0) study.any_device = saved.profiles.any_device;
  take("--profile", saved.profiles.files, study.profiles, !saved.profiles.files.empty());
  take("--gpu-memory", saved.device_memory, study.memory.gpu_memory, saved.device_memory.has_value());
  take("--margin", job.margin, study.memory.margin, job.margin.has_value());
  study.saved = saved.settings;
  saved.settings.for_each([&](const SettingRow& row, const SettingValue&) {
    std::string option(row.key);
    said.push_back(option);
    std::ranges::replace(option, '_', '-');
    said.push_back("--" + option);
  });
  return said;
}

/// Uses the price of a report, unless the report's price is that of the machine, or --price is given.
void take_price(StudyOptions& study, const PlanFile& file, const Command& command) {
  if (!file.price || command.count("--price") > 0) return;
  const Machine machine = load_machine(study.machine);
  const bool of_nodes = file.rents_nodes.value_or(machine.rents_nodes && machine.price_per_gpu_hour == file.price);
  if (machine.price_per_gpu_hour == file.price && machine.currency == file.currency && machine.rents_nodes == of_nodes)
    return;
  study.prices = {{.device = {}, .per_hour = *file.price, .currency = file.currency, .of_nodes = of_nodes}};
}

}  // namespace

std::vector<std::string> take_from_plan(StudyOptions& study, const PlanOptions& options, const Command& command) {
  std::vector<std::string> said;
  if (options.plan_file.empty()) return said;
  const PlanFile file = read_plan(read_file(options.plan_file), options.plan_file);
  study.ideal = study.ideal || file.ideal;
  if (file.job) {
    const ParsedJob parsed = parse_job(*file.job, options.plan_file + ", inputs/job");
    const std::string folder = std::filesystem::path(options.plan_file).parent_path().string();
    said = take_job(study, parsed.job, folder, command);
    take_price(study, file, command);
    return said;
  }
  const auto take = [&](const char* option, const std::optional<std::string>& reported, std::string& into,
                        const auto& load) {
    if (!reported || command.count(option) > 0) return;
    try {
      load(*reported);
    } catch (const Error&) {
      return;  // the model or machine is a user's file, and the report has no path
    }
    into = *reported;
    said.emplace_back(option);
  };
  if (!study.sequence)
    take("--model", file.model, study.model, [](const std::string& name) { static_cast<void>(load_model(name)); });
  take("--machine", file.machine, study.machine, [](const std::string& name) { static_cast<void>(load_machine(name)); });
  return said;
}

}  // namespace ddl
