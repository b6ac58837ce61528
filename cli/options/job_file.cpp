#include "cli/options/job_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include "calibration/inputs/plan_degrees.hpp"
#include "cli/options/congestion.hpp"
#include "cli/options/strategies.hpp"
#include "cli/options/study_options.hpp"
#include "core/error.hpp"
#include "core/file_format.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "estimator/choices/plan_choice.hpp"
#include "model_zoo/files/bundled_name.hpp"
#include "model_zoo/operations/shape_rules.hpp"

namespace ddl {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_job_gpus = std::int64_t{1} << 20;
constexpr std::int64_t most_job_batch_per_gpu = std::int64_t{1} << 20;
constexpr std::int64_t most_job_samples = std::int64_t{1} << 40;
constexpr std::size_t most_profiles = 1000;

/// How samples are read: by every rank, by the leader of a split group, or left out.
constexpr std::array<std::string_view, 3> input_names{"every-rank", "leader", "none"};

constexpr std::array<std::string_view, 31> known_keys{"format",
                                                      "model",
                                                      "sequence",
                                                      "packed_length",
                                                      "dataset",
                                                      "machine",
                                                      "coefficients",
                                                      "software",
                                                      "memory_format",
                                                      "profiles",
                                                      "any_device",
                                                      "precision",
                                                      "optimizer",
                                                      "mixed_precision",
                                                      "older_framework",
                                                      "idle_communicators",
                                                      "allreduce",
                                                      "parameter_servers",
                                                      "sparse_density",
                                                      "expert_imbalance",
                                                      "straggler",
                                                      "overlap",
                                                      "congestion",
                                                      "input",
                                                      "input_exposed",
                                                      "global_batch",
                                                      "batch_per_gpu",
                                                      "gpu_memory",
                                                      "margin",
                                                      "plan",
                                                      "optimizer_implementation"};

constexpr const char* example_plan = "write for example 'plan: {strategy: data+spatial, degrees: {data: 4, spatial: 2x2}}'";

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
    root_.only_keys(known_keys);
    job_.model = name_of(root_.at("model"));
    if (const auto node = root_.find("sequence")) job_.sequence = node->integer(1, max_attribute);
    if (const auto node = root_.find("packed_length")) job_.packed_length = node->integer(1, max_attribute);
    job_.machine = name_of(root_.at("machine"));
    if (const auto node = root_.find("dataset")) job_.dataset = name_of(*node);
    if (const auto node = root_.find("coefficients")) job_.coefficients = name_of(*node);
    if (const auto node = root_.find("software")) job_.software = name_of(*node);
    if (const auto node = root_.find("profiles")) read_profiles(*node);
    if (const auto node = root_.find("any_device")) read_any_device(*node);
    job_.precision = choice("precision", parse_precision, precision_names());
    job_.optimizer = choice("optimizer", parse_optimizer, optimizer_names());
    job_.memory_format = place_of<MemoryFormat>("memory_format", memory_format_names);
    job_.mixed_precision = place_of<MixedPrecision>("mixed_precision", mixed_precision_names);
    job_.update = choice("optimizer_implementation", parse_update_implementation,
                         {list_implementation_names().begin(), list_implementation_names().end()});
    if (const auto node = root_.find("older_framework")) job_.older_framework = node->boolean();
    if (const auto node = root_.find("idle_communicators"))
      job_.idle_communicators = static_cast<int>(node->integer(0, most_idle_communicators));
    read_exchange();
    read_input();
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
  /// A name that a file of text can hold as it is.
  static std::string name_of(const YamlNode& node) {
    std::string name = node.name();
    if (name.find_first_of("\t\r") != std::string::npos) node.fail("a name with control characters", "write the name alone");
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
      node.fail("'any_device' without 'profiles'", "name the profile, or leave it out");
  }

  template <class Enum>
  std::optional<Enum> choice(std::string_view key, std::optional<Enum> (*parse)(std::string_view),
                             const std::vector<std::string_view>& known) const {
    const auto node = root_.find(key);
    if (!node) return std::nullopt;
    return chosen(*node, key, parse, known);
  }

  template <class Parse>
  static auto chosen(const YamlNode& node, std::string_view key, const Parse& parse,
                     const std::vector<std::string_view>& known) {
    const std::string text = node.text();
    const auto parsed = parse(text);
    if (!parsed) node.fail(fmt::format("{} is no {}", quote(text), key), suggest(text, known));
    return *parsed;
  }

  /// The value at the place that the word behind a key has among `names`; nothing where the key is not there.
  template <class Enum>
  std::optional<Enum> place_of(std::string_view key, std::span<const std::string_view> names) const {
    const auto node = root_.find(key);
    if (!node) return std::nullopt;
    const std::string text = node->text();
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) node->fail(fmt::format("{} is no {}", quote(text), key), suggest(text, names));
    return static_cast<Enum>(found - names.begin());
  }

  void read_exchange() {
    std::vector<std::string_view> known;
    for (const AllreduceAlgorithm algorithm : all_allreduce_algorithms) known.push_back(to_string(algorithm));
    job_.allreduce = choice("allreduce", parse_allreduce_algorithm, known);
    const auto of = [&](std::string_view key, AllreduceAlgorithm algorithm) {
      const auto node = root_.find(key);
      if (node && job_.allreduce != algorithm) {
        node->fail(fmt::format("'{}' without 'allreduce: {}'", key, to_string(algorithm)), "add that, or leave this out");
      }
      return node;
    };
    if (const auto node = of("parameter_servers", AllreduceAlgorithm::parameter_server))
      job_.parameter_servers = node->number(1, most_parameter_servers);
    if (const auto node = of("sparse_density", AllreduceAlgorithm::sparse))
      job_.sparse_density = node->number(least_sparse_density, 1);
    if (const auto node = root_.find("expert_imbalance")) job_.expert_imbalance = node->number(1, most_expert_imbalance);
    if (const auto node = root_.find("straggler")) job_.straggler = node->number(1, most_straggler);
    if (const auto node = root_.find("overlap")) job_.overlap = node->boolean();
    if (const auto node = root_.find("congestion")) {
      const std::string text = node->text();
      job_.congestion = parse_congestion(text);
      if (!job_.congestion) node->fail(congestion_problem(text), congestion_hint);
    }
  }

  void read_input() {
    if (const auto node = root_.find("input")) {
      const std::string text = node->text();
      const auto* const known = std::find(input_names.begin(), input_names.end(), text);
      if (known == input_names.end())
        node->fail(fmt::format("{} is no input", quote(text)), suggest(text, std::span(input_names)));
      job_.input = std::nullopt;
      if (text == input_names[0]) job_.input = InputMode::every_rank;
      if (text == input_names[1]) job_.input = InputMode::leader;
    }
    const auto node = root_.find("input_exposed");
    job_.input_exposed = node && node->boolean();
    if (job_.input_exposed && !job_.input)
      node->fail("'input_exposed' and 'input: none' contradict each other", "leave one of them out");
  }

  void read_plan(const YamlNode& node) {
    if (!node.is_map()) node.fail("a plan is a map", example_plan);
    std::vector<std::string_view> keys{"strategy", "degrees", "gpus", "micro_batches", "placement"};
    for (const PlanChoiceRow& row : plan_choices()) keys.push_back(row.option);
    node.only_keys(keys);
    Plan& plan = job_.plan;
    std::optional<Family> family;
    if (const auto strategy = node.find("strategy")) {
      const std::string name = strategy->text();
      family = parse_family(name);
      if (!family) strategy->fail(fmt::format("no strategy is called {}", quote(name)), suggest_family(name));
      plan.zero_stage = zero_stage_in(name).value_or(0);
    }
    const auto gpus = node.find("gpus");
    const std::int64_t count = gpus ? gpus->integer(1, most_job_gpus) : 0;
    if (const auto degrees = node.find("degrees")) {
      read_degrees(*degrees);
      if (family && plan.mesh.family() != *family) {
        degrees->fail(fmt::format("the degrees are of the strategy '{}', not '{}'", family_name(plan.mesh.family()),
                                  family_name(*family)),
                      "name the same strategies in both, with degrees above 1");
      }
      if (gpus && plan.mesh.devices() != count) {
        gpus->fail(fmt::format("the product of the degrees is {}, not {}", plan.mesh.devices(), count),
                   "leave 'gpus' out: the degrees say it");
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
  }

  /// A strategy of one part, without degrees, has all GPUs.
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
    if (!node.is_map()) node.fail("the degrees are a map", "write for example 'degrees: {data: 4, spatial: 2x2}'");
    std::string all;
    for (const auto& [key, value] : node.entries()) {
      const std::string name = key.text();
      if (!parse_axis(name)) {
        key.fail(fmt::format("no strategy is called {}", quote(name)), suggest(name, axis_names()));
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

/// A path as it is seen from another folder; names stay what they are.
std::string seen_from(const std::string& name, const std::string& folder, bool path) {
  if (name.empty() || !path) return name;
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(fs::absolute(name, error), error);
  if (error) return name;
  const fs::path base = fs::weakly_canonical(fs::absolute(folder.empty() ? "." : folder, error), error);
  if (error) return whole.string();
  const std::string relative = whole.lexically_proximate(base).string();
  // What is no path any more is one with a slash.
  return relative.find('/') != std::string::npos ? relative : "./" + relative;
}

/// The same the other way round.
std::string found_from(const std::string& name, const std::string& folder, bool path) {
  if (name.empty() || !path || folder.empty() || fs::path(name).is_absolute()) return name;
  return (fs::path(folder) / name).string();
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
  const JobFile usual_job;
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
  if (job.memory_format) add("memory_format", memory_format_names[*job.memory_format]);
  if (!job.profiles.empty()) {
    out << "profiles";
    write_list(out, job.profiles);
  }
  if (job.any_device) add("any_device", "yes");
  if (job.precision) add("precision", to_string(*job.precision));
  if (job.mixed_precision) add("mixed_precision", mixed_precision_names[*job.mixed_precision]);
  if (job.optimizer) add("optimizer", to_string(*job.optimizer));
  if (job.update) add("optimizer_implementation", to_string(*job.update));
  if (job.older_framework) add("older_framework", *job.older_framework ? "yes" : "no");
  if (job.idle_communicators != usual_job.idle_communicators)
    add("idle_communicators", fmt::format("{}", job.idle_communicators));
  if (job.allreduce) add("allreduce", to_string(*job.allreduce));
  if (job.parameter_servers != usual_job.parameter_servers)
    add("parameter_servers", fmt::format("{}", job.parameter_servers));
  if (job.sparse_density != usual_job.sparse_density) add("sparse_density", fmt::format("{}", job.sparse_density));
  if (job.expert_imbalance != usual_job.expert_imbalance) add("expert_imbalance", fmt::format("{}", job.expert_imbalance));
  if (job.straggler != usual_job.straggler) add("straggler", fmt::format("{}", job.straggler));
  if (!job.overlap) add("overlap", "no");
  if (job.congestion) add("congestion", print_congestion(*job.congestion));
  if (job.input != usual_job.input) add("input", input_names[job.input ? 1 : 2]);
  if (job.input_exposed) add("input_exposed", "yes");
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
  if (plan.micro_batches != usual.micro_batches) out << "micro_batches" << plan.micro_batches;
  if (plan.placement != usual.placement) {
    std::vector<std::string> names;
    for (const Axis axis : plan.placement) names.emplace_back(to_string(axis));
    out << "placement";
    write_list(out, names);
  }
  for (const PlanChoiceRow& row : plan_choices()) {
    const int value = row.get(plan);
    // What is said of a plan on paper goes into its job: `1f1b`.
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
  job.model = named(spec.model, "");
  job.sequence = spec.sequence;
  job.packed_length = spec.packed_length;
  // A default need not fit, as one that is named does.
  job.dataset = named(spec.dataset, study.dataset().sample == study.model().input ? study.dataset().name : "");
  job.machine = named(spec.machine, "");
  job.coefficients = named(spec.coefficients, "");
  job.software = named(spec.software, "");
  for (const std::string& each : spec.profiles.files) job.profiles.push_back(seen_from(each, folder, each != "none"));
  job.any_device = spec.profiles.any_device;
  job.precision = study.precision();
  job.optimizer = study.optimizer();
  const Assumptions& assumptions = spec.assumptions;
  job.memory_format = spec.memory_format;
  job.mixed_precision = spec.mixed_precision;
  job.update = spec.update;
  job.older_framework = spec.older_framework;
  job.idle_communicators = assumptions.idle_communicators;
  job.allreduce = assumptions.allreduce;
  job.parameter_servers = assumptions.parameter_servers;
  job.sparse_density = assumptions.sparse_density;
  job.expert_imbalance = assumptions.expert_imbalance;
  job.straggler = assumptions.straggler;
  job.overlap = assumptions.overlap;
  if (assumptions.congestion_quantile) job.congestion = congestion_percent(*assumptions.congestion_quantile);
  job.input = assumptions.include_input ? std::optional(assumptions.input_mode) : std::nullopt;
  job.input_exposed = assumptions.include_input && !assumptions.input_overlapped;
  job.gpu_memory = spec.device_memory;
  if (!(spec.margin == Margin{})) job.margin = spec.margin;
  job.plan = plan;
  return job;
}

StudySpec spec_of(const JobFile& job, const std::string& folder) {
  StudySpec spec;
  const auto named = [&](const std::string& name) { return found_from(name, folder, is_path(name)); };
  spec.model = named(job.model);
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
  Assumptions& assumptions = spec.assumptions;
  spec.memory_format = job.memory_format;
  spec.mixed_precision = job.mixed_precision;
  spec.update = job.update;
  spec.older_framework = job.older_framework;
  assumptions.idle_communicators = job.idle_communicators;
  assumptions.allreduce = job.allreduce;
  assumptions.parameter_servers = job.parameter_servers;
  assumptions.sparse_density = job.sparse_density;
  assumptions.expert_imbalance = job.expert_imbalance;
  assumptions.straggler = job.straggler;
  assumptions.overlap = job.overlap;
  if (job.congestion) assumptions.congestion_quantile = congestion_quantile(*job.congestion);
  assumptions.include_input = job.input.has_value();
  assumptions.input_mode = job.input.value_or(assumptions.input_mode);
  assumptions.input_overlapped = !job.input_exposed;
  spec.device_memory = job.gpu_memory;
  spec.margin = job.margin.value_or(Margin{});
  return spec;
}

}  // namespace ddl
