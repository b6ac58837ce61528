#include "cli/options/job_file.hpp"

#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include "calibration/inputs/plan_degrees.hpp"
#include "calibration/inputs/setting_values.hpp"
#include "cli/options/layer_layouts.hpp"
#include "cli/options/plan_options.hpp"
#include "cli/options/strategies.hpp"
#include "cli/options/study_options.hpp"
#include "core/error.hpp"
#include "core/file_format.hpp"
#include "core/find.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "estimator/choices/plan_choice.hpp"
#include "model_zoo/files/bundled_name.hpp"
#include "model_zoo/files/canonical_name.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/operations/shape_rules.hpp"

namespace ddl {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_job_gpus = std::int64_t{1} << 20;
constexpr std::int64_t most_job_batch_per_gpu = std::int64_t{1} << 20;
constexpr std::int64_t most_job_samples = std::int64_t{1} << 40;
constexpr std::size_t most_profiles = 1000;

/// The keys of a job file that are not settings.
constexpr std::array<std::string_view, 17> own_keys{
    "format",       "model",        "sequence",      "packed_length", "dataset",    "machine",
    "coefficients", "software",     "settings",      "profiles",      "any_device", "precision",
    "optimizer",    "global_batch", "batch_per_gpu", "gpu_memory",    "margin"};

std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> keys{own_keys.begin(), own_keys.end()};
  keys.emplace_back("plan");
  for (const std::string_view key : setting_keys([](const SettingRow& row) { return row.has_option; })) keys.push_back(key);
  return keys;
}

constexpr const char* example_plan = "use for example 'plan: {strategy: data+spatial, degrees: {data: 4, spatial: 2x2}}'";

template <class Action>
void placed(const YamlNode& node, const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    node.fail(error.what(), error.hint());
  }
}

class JobReader {
 public:
  explicit JobReader(const YamlNode& root) : root_(root) {}

  JobFile read() {
    check_format(root_);
    root_.only_keys(known_keys());
    job_.model = name_of(root_.at("model"));
    if (const auto node = root_.find("sequence")) job_.sequence = node->integer(1, max_attribute);
    if (const auto node = root_.find("packed_length")) job_.packed_length = node->integer(1, max_attribute);
    job_.machine = name_of(root_.at("machine"));
    if (const auto node = root_.find("dataset")) job_.dataset = name_of(*node);
    if (const auto node = root_.find("coefficients")) job_.coefficients = name_of(*node);
    if (const auto node = root_.find("software")) job_.software = name_of(*node);
    if (const auto node = root_.find("profiles")) read_profiles(*node);
    if (const auto node = root_.find("any_device")) read_any_device(*node);
    job_.precision = choice<Precision>("precision");
    job_.optimizer = choice<Optimizer>("optimizer");
    read_settings();
    job_.plan.precision = job_.precision.value_or(job_.plan.precision);
    job_.plan.optimizer = job_.optimizer.value_or(job_.plan.optimizer);
    read_plan(root_.at("plan"));
    read_batch();
    if (const auto node = root_.find("gpu_memory")) job_.gpu_memory = node->bytes(false, plausible_memory);
    if (const auto node = root_.find("margin")) {
      UnitProblem problem;
      job_.margin = parse_margin(node->text(), problem);
      if (!job_.margin) node->fail(problem.message, problem.hint);
    }
    return std::move(job_);
  }

 private:
  /// Returns a name from the file. Throws Error if the name has control characters, because it may
  /// be written into another file.
  static std::string name_of(const YamlNode& node) {
    std::string name = node.name();
    if (name.find_first_of("\t\r") != std::string::npos) node.fail("the name has control characters", "write only the name");
    return name;
  }

  void read_profiles(const YamlNode& node) {
    if (node.is_scalar()) {
      job_.profiles = {name_of(node)};
      return;
    }
    for (const YamlNode& each : node.items()) {
      if (job_.profiles.size() == most_profiles) each.fail(fmt::format("more than {} profiles", most_profiles));
      job_.profiles.push_back(name_of(each));
    }
    if (job_.profiles.empty()) node.fail("no profile is named", "name one, write none, or leave 'profiles' out");
  }

  void read_any_device(const YamlNode& node) {
    job_.any_device = node.boolean();
    if (job_.any_device && job_.profiles.empty())
      node.fail("'any_device' needs 'profiles'", "add 'profiles', or leave 'any_device' out");
  }

  template <class Enum>
  std::optional<Enum> choice(std::string_view key) const {
    const auto node = root_.find(key);
    if (!node) return std::nullopt;
    return chosen(*node, key, parse_enum<Enum>, enum_names<Enum>);
  }

  template <class Parse>
  static auto chosen(const YamlNode& node, std::string_view key, const Parse& parse,
                     std::span<const std::string_view> known) {
    const std::string text = node.text();
    const auto parsed = parse(text);
    if (!parsed) node.fail(fmt::format("{} is not a valid {}", quote(text), key), suggest(text, known));
    return *parsed;
  }

  void add(const SettingRow& row, const YamlNode& node) {
    job_.settings.set(row, {read_setting(row, node), SettingOrigin::job, {}});
  }

  /// Reads the settings. A setting with an option of its own is a key of the job file. Other
  /// settings are under the key `settings`.
  void read_settings() {
    for (const SettingRow& row : setting_rows()) {
      const auto node = row.has_option ? root_.find(row.key) : std::nullopt;
      if (node) add(row, *node);
    }
    if (const auto all = root_.find("settings")) {
      all->only_keys(setting_keys([](const SettingRow& row) { return !row.has_option; }), former_settings());
      for (const auto& [key, value] : all->entries()) add(setting_named(key.text()), value);
    }
    if (const SettingRow* const lacking = lacking_setting(job_.settings)) {
      root_.at(lacking->key)
          .fail(
              fmt::format("'{}' needs '{}: {}'", lacking->key, lacking->only_with_key, lacking->only_with),
              fmt::format("set '{}' to the required value, or leave out the key that requires it", lacking->only_with_key));
    }
    const bool has_input = job_.settings.number("input") != input_none;
    if (!has_input && job_.settings.flag("input_exposed").value_or(false)) {
      root_.at("input_exposed").fail("'input_exposed' and 'input: none' contradict each other", "leave one of them out");
    }
  }

  void read_plan(const YamlNode& node) {
    if (!node.is_map()) node.fail("a plan must be a map", example_plan);
    std::vector<std::string_view> keys{"strategy", "degrees", "gpus", "layers", "micro_batches", "placement"};
    for (const PlanChoiceRow& row : plan_choices()) keys.push_back(row.option);
    node.only_keys(keys);
    Plan& plan = job_.plan;
    std::optional<Family> family;
    if (const auto strategy = node.find("strategy")) {
      const std::string name = strategy->text();
      family = parse_family(name);
      if (!family) strategy->fail(fmt::format("unknown strategy {}", quote(name)), suggest_family(name));
      plan.zero_stage = zero_stage_in(name).value_or(0);
    }
    const auto gpus = node.find("gpus");
    const std::int64_t count = gpus ? gpus->integer(1, most_job_gpus) : 0;
    if (const auto degrees = node.find("degrees")) {
      read_degrees(*degrees);
      if (family && plan.mesh.family() != *family) {
        degrees->fail(fmt::format("the degrees belong to the strategy '{}', not '{}'", family_name(plan.mesh.family()),
                                  family_name(*family)),
                      "name the same strategies in both, with degrees above 1");
      }
      if (gpus && plan.mesh.devices() != count) {
        gpus->fail(fmt::format("the product of the degrees is {}, not {}", plan.mesh.devices(), count),
                   "leave 'gpus' out: the degrees determine the number");
      }
    } else {
      give_all_to(node, family, count);
    }
    if (const auto value = node.find("micro_batches")) plan.micro_batches = value->integer(1, most_job_samples);
    for (const PlanChoiceRow& row : plan_choices()) {
      const auto value = node.find(std::string(row.option));
      if (!value) continue;
      const auto parse = [&](const std::string& text) { return row.parse(text); };
      const auto number = [&](int first) { return static_cast<int>(value->integer(first, first + row.last)) - first; };
      row.set(plan,
              row.first_number ? number(*row.first_number) : chosen(*value, std::string(row.option), parse, row.names()));
    }
    if (plan.recompute_blocks > 0 && !node.find("recompute")) plan.recompute = Recompute::full;
    if (node.find("recompute-modules") && !node.find("recompute")) plan.recompute = Recompute::selective;
    if (plan.secondary_shards > 1 && !node.find("zero")) plan.zero_stage = 3;
    if (const auto value = node.find("placement")) read_placement(*value);
    if (const auto value = node.find("layers")) {
      for (const YamlNode& each : value->items()) job_.layers.push_back(each.text());
    }
  }

  /// Gives all GPUs to the axis of a strategy with one axis. Throws Error if the strategy needs degrees.
  void give_all_to(const YamlNode& node, const std::optional<Family>& family, std::int64_t gpus) {
    if (!family) node.fail("the plan has neither 'degrees' nor a 'strategy'", example_plan);
    const YamlNode strategy = node.at("strategy");
    if (*family == 0 && gpus <= 1) return;
    const bool is_one = (*family & (*family - 1)) == 0 && *family != 0;
    if (!is_one || gpus == 0) {
      strategy.fail(fmt::format("'{}' needs 'degrees'", family_name(*family)),
                    *family == 0 ? "leave 'gpus' out"
                                 : fmt::format("as in --degrees {}, but as a map",
                                               example_degrees(*family, std::max<std::int64_t>(gpus, 64))));
    }
    parse_degrees(fmt::format("{}={}", family_name(*family), gpus), job_.plan);
  }

  void read_degrees(const YamlNode& node) {
    if (!node.is_map()) node.fail("the degrees must be a map", "use for example 'degrees: {data: 4, spatial: 2x2}'");
    std::string all;
    for (const auto& [key, value] : node.entries()) {
      const std::string name = key.text();
      if (!parse_axis(name)) {
        key.fail(fmt::format("unknown strategy {}", quote(name)), suggest(name, axis_names()));
      }
      const std::string degree = value.text();
      if (degree.find_first_not_of("0123456789x") != std::string::npos) {
        value.fail(fmt::format("{} is not a degree", quote(degree)), "write a whole number, or 2x2 for 'spatial'");
      }
      const std::string one = fmt::format("{}={}", name, degree);
      placed(value, [&] {
        Plan alone;
        parse_degrees(one, alone);
      });
      all += (all.empty() ? "" : ",") + one;
    }
    if (all.empty()) return;
    placed(node, [&] { parse_degrees(all, job_.plan); });
  }

  void read_placement(const YamlNode& node) {
    std::string names;
    for (const YamlNode& each : node.items()) names += (names.empty() ? "" : ",") + each.name();
    if (names.empty()) return;
    placed(node, [&] { job_.plan.placement = parse_placement(names); });
  }

  void read_batch() {
    const auto global = root_.find("global_batch"), each = root_.find("batch_per_gpu");
    if (global && each) each->fail("'global_batch' and 'batch_per_gpu' contradict each other", "leave one of them out");
    if (each) {
      job_.batch_per_gpu = each->integer(1, most_job_batch_per_gpu);
      job_.plan.global_batch = *job_.batch_per_gpu * job_.plan.mesh.devices();
    } else {
      if (!global) root_.fail("the batch is missing", "add 'global_batch: 256', or 'batch_per_gpu: 32'");
      job_.plan.global_batch = global->integer(1, most_job_samples);
    }
  }

  const YamlNode& root_;
  JobFile job_;
};

void write_degrees(YAML::Emitter& out, const Plan& plan) {
  out << YAML::Flow << YAML::BeginMap;
  for (const Axis axis : spoken_axes) {
    if (plan.mesh[axis] == 1) continue;
    out << std::string(to_string(axis)) << degree_text(plan.mesh, axis);
  }
  out << YAML::EndMap;
}

void write_list(YAML::Emitter& out, const std::vector<std::string>& items) {
  out << YAML::Flow << YAML::BeginSeq;
  for (const std::string& item : items) out << item;
  out << YAML::EndSeq;
}

/// Returns a path relative to `folder`. A bundled name is returned unchanged.
std::string seen_from(const std::string& name, const std::string& folder, bool path) {
  if (name.empty() || !path) return name;
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(fs::absolute(name, error), error);
  if (error || folder == "/") return error ? name : whole.string();
  const fs::path base = fs::weakly_canonical(fs::absolute(folder.empty() ? "." : folder, error), error);
  if (error) return whole.string();
  const std::string relative = whole.lexically_proximate(base).string();
  // A path without a slash would be read as a bundled name, so it gets `./` in front.
  return relative.find('/') != std::string::npos ? relative : "./" + relative;
}

/// Resolves a path that is relative to `folder`: the inverse of seen_from().
std::string found_from(const std::string& name, const std::string& folder, bool path) {
  if (name.empty() || !path || folder.empty() || fs::path(name).is_absolute()) return name;
  return (fs::path(folder) / name).string();
}

/// Whether a model's name stands for a file or, seen from `folder`, for a folder with the model's `config.json`.
bool is_path_of_model(const std::string& name, const std::string& folder) {
  if (is_path(name)) return true;
  const std::string bare = name.substr(0, name.find('=') == std::string::npos ? std::string::npos : name.find('@'));
  if (bare.empty() || contains(model_names(), canonical_model_name(bare))) return false;
  std::error_code unknown;
  return fs::is_regular_file(fs::path(folder) / bare / "config.json", unknown);
}

}  // namespace

YamlNode ParsedJob::place(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys) {
    if (const auto node = root.find(key)) return *node;
  }
  return root;
}

ParsedJob parse_job(const std::string& text, const std::string& origin) {
  YamlNode root = YamlNode::parse(text, origin);
  JobFile job = JobReader(root).read();
  return {std::move(job), std::move(root)};
}

std::string print_job(const JobFile& job) {
  YAML::Emitter out;
  const auto add = [&](std::string_view key, std::string_view value) { out << std::string(key) << std::string(value); };
  const auto add_name = [&](const char* key, const std::string& name) {
    if (!name.empty()) add(key, name);
  };
  out << YAML::BeginMap << "format" << 1;
  add_name("model", job.model);
  if (job.sequence) out << "sequence" << *job.sequence;
  if (job.packed_length) out << "packed_length" << *job.packed_length;
  add_name("dataset", job.dataset);
  add_name("machine", job.machine);
  add_name("coefficients", job.coefficients);
  add_name("software", job.software);
  if (!job.profiles.empty()) {
    out << "profiles";
    write_list(out, job.profiles);
  }
  if (job.any_device) add("any_device", "yes");
  if (job.precision) add("precision", to_string(*job.precision));
  if (job.optimizer) add("optimizer", to_string(*job.optimizer));
  Settings others;
  job.settings.for_each([&](const SettingRow& row, const SettingValue& value) {
    if (row.has_option) {
      add(row.key, print_setting(row, value.value));
    } else {
      others.set(row, value);
    }
  });
  if (!others.empty()) {
    out << "settings" << YAML::BeginMap;
    others.for_each(
        [&](const SettingRow& row, const SettingValue& value) { add(row.key, print_setting(row, value.value)); });
    out << YAML::EndMap;
  }
  if (job.batch_per_gpu) {
    out << "batch_per_gpu" << *job.batch_per_gpu;
  } else {
    out << "global_batch" << job.plan.global_batch;
  }
  if (job.gpu_memory) add("gpu_memory", print_quantity(*job.gpu_memory));
  if (job.margin) add("margin", print_margin(*job.margin));
  const Plan& plan = job.plan;
  const Plan usual;
  out << "plan" << YAML::BeginMap << "strategy" << family_name(plan.mesh.family()) << "degrees";
  write_degrees(out, plan);
  if (!job.layers.empty()) {
    out << "layers";
    write_list(out, job.layers);
  }
  if (plan.micro_batches != usual.micro_batches) out << "micro_batches" << plan.micro_batches;
  if (plan.placement != usual.placement) {
    std::vector<std::string> names;
    for (const Axis axis : plan.placement) names.emplace_back(to_string(axis));
    out << "placement";
    write_list(out, names);
  }
  for (const PlanChoiceRow& row : plan_choices()) {
    const int value = row.get(plan);
    // A choice that is printed with the plan, such as `1f1b`, is written into the job, even if the choice has its default.
    const bool is_said = row.matters(plan.mesh) && !row.words(value).empty();
    if (value == row.get(usual) && !is_said) continue;
    if (row.first_number) {
      out << std::string(row.option) << *row.first_number + value;
    } else {
      add(row.option, row.name(value));
    }
  }
  out << YAML::EndMap << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

JobFile job_of(const Study& study, const Plan& plan, const std::string& folder) {
  const StudySpec& spec = study.spec();
  JobFile job;
  const auto named = [&](const std::string& name, const std::string& usual) {
    return name.empty() ? usual : seen_from(name, folder, is_path(name));
  };
  job.model = seen_from(spec.model, folder, is_path_of_model(spec.model, ""));
  job.sequence = spec.sequence;
  job.packed_length = spec.packed_length;
  // A data set that a job names must have the shape of the model's input, but a default data set
  // may have another shape. In that case, the job does not name the data set.
  const Dataset& usual = study.dataset();
  job.dataset =
      named(spec.dataset, usual.name != unknown_dataset && usual.sample == study.model().input ? usual.name : std::string());
  job.machine = named(spec.machine, "");
  job.coefficients = named(spec.coefficients, "");
  job.software = named(spec.software, "");
  for (const std::string& each : spec.profiles.files) job.profiles.push_back(seen_from(each, folder, each != "none"));
  job.any_device = spec.profiles.any_device;
  job.precision = study.precision();
  job.optimizer = study.optimizer();
  // A setting without effect on the plan is left out: `check` would warn of it, and --for ddp always sets autocast.
  // Options stay, because the user may check the job with another plan.
  bool has_other = false;
  spec.settings.for_each(
      [&](const SettingRow&, const SettingValue& value) { has_other = has_other || value.origin != SettingOrigin::option; });
  std::vector<std::string_view> without_effect;
  if (has_other) without_effect = settings_without_effect(study, plan, SettingOrigin::software);
  Settings with_effect;
  spec.settings.for_each([&](const SettingRow& row, const SettingValue& value) {
    const bool is_option = value.origin == SettingOrigin::option;
    const bool counts = row.counts == nullptr || row.counts(study.job().facts, plan);
    const bool has_effect = !contains(without_effect, row.key);
    if (is_option ? counts : has_effect) with_effect.set(row, value);
  });
  job.settings = with_effect.said_by(SettingOrigin::job);
  job.gpu_memory = spec.device_memory;
  if (!(spec.margin == Margin{})) job.margin = spec.margin;
  job.plan = plan;
  job.plan.segments.clear();
  job.plan.table_segments.clear();
  job.plan.recompute_segments.clear();
  job.plan.zero_segments.clear();
  job.layers = layer_layouts(plan, study.job().facts);
  return job;
}

std::string report_folder(const std::string& output) {
  return output.empty() ? "/" : fs::path(output).parent_path().string();
}

StudySpec spec_of(const JobFile& job, const std::string& folder) {
  StudySpec spec;
  const auto named = [&](const std::string& name) { return found_from(name, folder, is_path(name)); };
  spec.model = found_from(job.model, folder, is_path_of_model(job.model, folder));
  spec.sequence = job.sequence;
  spec.packed_length = job.packed_length;
  spec.dataset = named(job.dataset);
  spec.machine = named(job.machine);
  spec.coefficients = named(job.coefficients);
  spec.software = named(job.software);
  for (const std::string& each : job.profiles) spec.profiles.files.push_back(found_from(each, folder, each != "none"));
  spec.profiles.any_device = job.any_device;
  spec.precision = job.precision;
  spec.optimizer = job.optimizer;
  spec.settings = job.settings;
  spec.device_memory = job.gpu_memory;
  spec.margin = job.margin.value_or(Margin{});
  return spec;
}

}  // namespace ddl
