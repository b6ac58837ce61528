// Tests that `--like` reads files that `--save-dir` writes for a tool with the same model, plan,
// batch and precision, unless the tool refuses the plan.

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>

#include <unistd.h>

#include "cli/options/configurations/configuration.hpp"
#include "cli/options/plan_file.hpp"
#include "cli/tools/config_text.hpp"
#include "cli/tools/launcher.hpp"
#include "cli/tools/run_values.hpp"
#include "core/error.hpp"
#include "estimator/facts/model_facts.hpp"
#include "tests/property/random_plans.hpp"

namespace launch_tests {

using namespace ddl;

namespace {

namespace fs = std::filesystem;

/// A folder that is removed with all its files.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / fmt::format("ddl-launch-test-{}", ::getpid())) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string write(const std::string& name, const std::string& text) const {
    const fs::path file = path_ / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file.string();
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

/// Returns a plan with any choices that the model allows, including choices that are new in the table of choices.
Plan random_plan_of(Random& random, const Study& study, int devices) {
  Plan plan;
  const auto take = [&](Axis axis) {
    if (random.chance()) return;
    int degree = 1 << random.whole(0, 3);
    while (degree > devices) degree /= 2;
    plan.mesh.set(axis, degree);
    devices /= degree;
  };
  for (const Axis axis : {Axis::tensor, Axis::pipeline, Axis::context, Axis::expert}) {
    if (random.chance()) take(axis);
  }
  plan.mesh.set(Axis::data, devices);
  plan.micro_batches = random.of(std::vector<std::int64_t>{1, 2, 3, 4, 8});
  plan.global_batch = plan.mesh.batch_parts() * plan.micro_batches * random.whole(1, 3);
  for (const PlanChoiceRow& row : plan_choices()) {
    const int value = random.of(std::vector<int>{0, 0, 1, 2, 3, 8});
    if (value > row.last || !row.matters(plan.mesh)) continue;
    if (row.possible == nullptr || row.possible(study.job().facts, plan, value)) row.set(plan, value);
  }
  plan.optimizer = random.of(std::vector(enum_values<Optimizer>.begin(), enum_values<Optimizer>.end()));
  plan.precision = random.of(std::vector{Precision::bf16, Precision::bf16, Precision::fp16, Precision::fp8, Precision::tf32,
                                         Precision::fp32, Precision::nvfp4});
  return plan;
}

/// A tool, its launch file that `--like` reads, and the settings that the file leaves to the user's script.
struct Tool {
  std::string_view name;
  const ConfigurationFormat* format;
  std::string file;
  bool names_model = true;
};
const std::vector<Tool>& tools() {
  static const std::vector<Tool> all{{"Megatron-LM", &megatron_arguments, "launch/megatron.sh"},
                                     {"torchtitan", &torchtitan_toml, "launch/torchtitan.sh"},
                                     {"DeepSpeed", &deepspeed_json, "launch/deepspeed.json", false},
                                     {"NeMo", &nemo_yaml, "launch/nemo.yaml"}};
  return all;
}

PlanStudy read_again(const Tool& tool, const std::string& file, const Study& study, const Plan& plan) {
  StudyOptions asked;
  PlanOptions options;
  asked.machine = study.spec().machine;
  std::vector<std::string> given{"--machine"};
  if (!tool.names_model) {
    asked.model = study.spec().model;
    given.emplace_back("--model");
    if (plan.precision == Precision::tf32) {
      asked.precision = "tf32";
      given.emplace_back("--precision");
    }
    if (plan.recompute == Recompute::full) {
      options.names[static_cast<std::size_t>(PlanChoice::recompute)] = "full";
      options.numbers[static_cast<std::size_t>(PlanChoice::recompute_blocks)] = plan.recompute_blocks;
    }
  }
  const ConfiguredOptions said = options_of(read_configuration(file), asked, options, [&](const std::string& option) {
    return std::find(given.begin(), given.end(), option) != given.end();
  });
  return plan_study(said.study, said.own);
}

/// Returns the optimizer's word in the table of the tool. Some tools have one word for Adam and AdamW.
std::string optimizer_word(const ConfigurationFormat& format, const Plan& plan) {
  RunValues values;
  const bool is_plain = plan.optimizer == Optimizer::sgd;
  values.set(ConfigField::optimizer, std::string(to_string(is_plain ? Optimizer::momentum : plan.optimizer)));
  for (const ArgumentRow& row : format.rows) {
    if (row.field != ConfigField::optimizer) continue;
    if (const auto word = said_by(format, row, values)) return (is_plain ? "plain " : "") + *word;
  }
  return std::string(to_string(plan.optimizer));
}

void check_plan(const ConfigurationFormat& format, const Plan& plan, const Plan& read) {
  CHECK(degrees_text(read.mesh) == degrees_text(plan.mesh));
  CHECK(read.global_batch == plan.global_batch);
  CHECK(read.micro_batches == plan.micro_batches);
  CHECK(to_string(read.precision) == to_string(plan.precision));
  CHECK(optimizer_word(format, read) == optimizer_word(format, plan));
  for (const PlanChoiceRow& row : plan_choices()) {
    if (!row.matters(plan.mesh) || (row.counts != nullptr && !row.counts(plan))) continue;
    INFO(row.option);
    // If blocks do not divide, the file says that the embedding and the loss count as a block.
    const bool is_outer = row.choice == PlanChoice::first_stage_blocks || row.choice == PlanChoice::last_stage_blocks;
    if (is_outer && plan.first_stage_blocks + plan.last_stage_blocks == 0 && row.get(read) > 0) continue;
    CHECK(row.words(row.get(read)) == row.words(row.get(plan)));
  }
}

void check_model(const Tool& tool, const Study& study, const Plan& plan, const Model& read) {
  if (tool.format == &torchtitan_toml || !tool.names_model) {
    CHECK(read.name == study.model().name);
    return;
  }
  std::optional<Transformer> expected = transformer_of(study.model()), found = transformer_of(read);
  REQUIRE((expected && found));
  // A tensor split pads the vocabulary.
  const std::int64_t parts = plan.mesh[Axis::tensor];
  expected->vocabulary = (expected->vocabulary + parts - 1) / parts * parts;
  expected->is_fused = true;  // a note says that the optimizer is fused
  CHECK((*found == *expected));
}

constexpr std::array models{"gpt3-1.3b",
                            "gpt2",
                            "llama3-8b",
                            "llama2-7b",
                            "qwen3-8b",
                            "qwen2.5-7b",
                            "mixtral-8x7b",
                            "llama3-8b@tokens=2048",
                            "gpt2@fused=no@tied=no",
                            "phi-4",
                            "resnet50"};

std::unique_ptr<Study> study_of(const char* model, const char* machine) {
  StudySpec spec;
  spec.model = model;
  spec.machine = machine;
  return std::make_unique<Study>(spec);
}

/// Returns the file that starts the tool; empty if the tool refuses the plan.
std::optional<std::string> written_by(const Tool& tool, const Study& study, const Plan& plan, const Folder& folder) {
  const auto launcher =
      std::find_if(launchers().begin(), launchers().end(), [&](const Launcher& each) { return each.name == tool.name; });
  Estimate estimate;
  estimate.plan = plan;
  const LaunchOutcome outcome = launcher->launch({study, estimate});
  const auto* launch = std::get_if<Launch>(&outcome);
  if (launch == nullptr) return std::nullopt;
  for (const FolderFile& file : launch->files) folder.write(file.name, file.content);
  return folder.file(tool.file);
}

/// Returns the file's own entry for a field, as `key`, `value`.
std::optional<std::pair<std::string, std::string>> said_in(const Configuration& configuration, RunField field) {
  if (!configuration.writes(field)) return std::nullopt;
  const ConfigEntry& entry = *configuration.find(field)->from;
  return std::pair{entry.key, entry.value.empty() ? "yes" : entry.value};
}

/// Returns the words of arguments that only state the tool's default.
std::set<std::string> usual_words(const ConfigurationFormat& format, const std::string& key) {
  std::set<std::string> words{""};
  for (const ArgumentRow& row : format.rows) {
    RunValues usual;
    usual.set(row.field, usual_value(format, row.field, usual));
    if (const auto word = said_by(format, row, usual); word && row.key == key) words.insert(*word);
  }
  return words;
}

void check_changes(const Tool& tool, const Configuration& before, const Configuration& after,
                   const ConfigurationChanges& changes) {
  std::map<std::string, std::string> wanted, found;
  for (std::size_t i = 0; i < RunField::count; ++i) {
    const RunField field = RunField::numbered(i);
    const auto was = said_in(before, field), is = said_in(after, field);
    // A tensor split pads the vocabulary, and Megatron-LM offloads an optimizer only with another implementation.
    if (was == is || field == ConfigField::overlap || field == ConfigField::vocabulary ||
        field == ConfigField::master_weights)
      continue;
    wanted[was ? was->first : is->first] = is ? is->second : "";
  }
  for (const ConfigurationChange& change : changes.arguments) found[change.argument] = change.then;
  // A tool's default may be stated or left out.
  for (auto* both : {&wanted, &found}) {
    for (auto& [argument, value] : *both) value = usual_words(*tool.format, argument).contains(value) ? "as usual" : value;
  }
  std::string wanted_text, found_text;
  for (const auto& [argument, value] : wanted) {
    if (value != "as usual" || found.contains(argument)) wanted_text += fmt::format("{} {}\n", argument, value);
  }
  for (const auto& [argument, value] : found) found_text += fmt::format("{} {}\n", argument, value);
  CHECK(found_text == wanted_text);
  // The user's script recomputes.
  for (const std::string& each : changes.unsaid) CHECK((!tool.names_model && each.starts_with("recompute")));
}

}  // namespace

TEST_CASE("the files of each tool read back as the plan that they start") {
  Random random(20'261'127);
  const Folder folder;
  std::map<std::string_view, int> launched;
  for (const char* model : models) {
    for (const char* machine : {"dgx-h100", "gb200-nvl72"}) {
      const std::unique_ptr<Study> study = study_of(model, machine);
      const Estimator estimator(study->job());
      for (int i = 0; i < 50; ++i) {
        Plan plan = random_plan_of(random, *study, 1 << random.whole(0, 6));
        if (random.whole(0, 1) == 0) plan.optimizer = Optimizer::adamw;  // the only one of some tools
        if (!estimator.limits(plan).empty() || !study->machine().device.peak[plan.precision]) continue;
        for (const Tool& tool : tools()) {
          const std::optional<std::string> file = written_by(tool, *study, plan, folder);
          if (!file) continue;
          ++launched[tool.name];
          INFO(tool.name << ": " << model << " on " << machine << ": " << plan_word(plan) << ", batch " << plan.global_batch
                         << ", " << to_string(plan.precision) << ", " << to_string(plan.optimizer));
          try {
            const PlanStudy read = read_again(tool, *file, *study, plan);
            check_plan(*tool.format, plan, read.plan.value());
            check_model(tool, *study, plan, read.study->model());
          } catch (const Error& error) {
            FAIL_CHECK(error.what());
          }
        }
      }
    }
  }
  for (const Tool& tool : tools()) {
    INFO(tool.name);
    CHECK(launched[tool.name] >= 10);
  }
}

TEST_CASE("the changes between two plans turn the file of the first plan into the file of the second") {
  Random random(97);
  const Folder folder;
  int compared = 0;
  for (const char* model : models) {
    const std::unique_ptr<Study> study = study_of(model, "dgx-h100");
    const Estimator estimator(study->job());
    const std::int64_t layers = study->model().blocks;
    std::map<std::string_view, std::pair<Plan, Configuration>> before;
    for (int i = 0; i < 80; ++i) {
      Plan plan = random_plan_of(random, *study, 16);
      plan.global_batch = 96;
      plan.precision = Precision::bf16;
      plan.optimizer = Optimizer::adamw;
      if (!estimator.limits(plan).empty()) continue;
      for (const Tool& tool : tools()) {
        const std::optional<std::string> file = written_by(tool, *study, plan, folder);
        if (!file) continue;
        Configuration after = read_configuration(*file);
        if (const auto found = before.find(tool.name); found != before.end()) {
          INFO(tool.name << ": " << model << ": " << plan_word(found->second.first) << " -> " << plan_word(plan));
          check_changes(tool, found->second.second, after,
                        changes_of(found->second.second, found->second.first, plan, layers, false));
          ++compared;
        }
        before.insert_or_assign(tool.name, std::pair{plan, std::move(after)});
      }
    }
  }
  CHECK(compared >= 30);
}

TEST_CASE("a file of accelerate and the arguments of its script read back as the plan if they have all its values") {
  Random random(5);
  const Folder folder;
  int read = 0;
  const std::unique_ptr<Study> study = study_of("llama3-8b", "dgx-h100");
  const Estimator estimator(study->job());
  for (int i = 0; i < 300; ++i) {
    Estimate estimate;
    estimate.plan = random_plan_of(random, *study, 16);
    const Plan& plan = estimate.plan;
    // Hybrid shards are distributed over the GPUs of a node.
    const int node = 8 * plan.mesh[Axis::data] / 16;
    if (!estimator.limits(plan).empty() || (plan.shard_group > 0 && (plan.shard_group != node || node == 1))) continue;
    RunValues values = values_of(plan, accelerate_yaml, study->model().blocks);
    values.set(ConfigField::distributed_type, plan.zero_stage > 1 || random.chance() ? "fsdp" : "megatron");
    values.set(ConfigField::gpus, "16");
    values.set(ConfigField::nodes, "2");
    // The user's script has these values as arguments.
    RunValues own;
    values.clear(ConfigField::global_batch);
    for (const ConfigField field :
         {ConfigField::micro_batch, ConfigField::accumulation, ConfigField::optimizer, ConfigField::momentum}) {
      if (values[field]) own.set(field, *values[field]);
      values.clear(field);
    }
    if (refused({*study, estimate}, accelerate_yaml, values) || refused({*study, estimate}, transformers_arguments, own))
      continue;
    static_cast<void>(folder.write("accelerate.yaml", ConfigText(accelerate_yaml, values).yaml()));
    std::string arguments = ConfigText(transformers_arguments, own).shell();
    std::replace(arguments.begin(), arguments.end(), '\n', ' ');
    const std::string script =
        folder.write("run.sh", "accelerate launch --config_file accelerate.yaml train.py" + arguments + "\n");
    INFO(plan_word(plan) << ", batch " << plan.global_batch << ", " << to_string(plan.precision) << "\n"
                         << ConfigText(accelerate_yaml, values).yaml() << script);
    try {
      const Tool tool{"accelerate", &accelerate_yaml, script, false};
      check_plan(transformers_arguments, plan, read_again(tool, script, *study, plan).plan.value());
      ++read;
    } catch (const Error& error) {
      FAIL_CHECK(error.what());
    }
  }
  CHECK(read >= 10);
}

}  // namespace launch_tests
