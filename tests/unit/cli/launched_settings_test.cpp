#include "cli/tools/launched_settings.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/documents/startable.hpp"
#include "cli/tools/launcher.hpp"
#include "estimator/inputs/settings.hpp"
#include "tests/catch.hpp"

namespace launched_settings_tests {

using namespace ddl;

namespace {

/// A plan on 16 GPUs, and the settings that the user gave.
struct Question {
  std::string model = "llama3-8b";
  std::string setting{}, word{};
  Plan plan{};
};

Plan plan_of(Axis axis, int degree, int zero_stage) {
  Plan plan;
  plan.mesh.set(Axis::data, 16 / degree);
  if (axis != Axis::data) plan.mesh.set(axis, degree);
  plan.global_batch = 16;
  plan.zero_stage = zero_stage;
  plan.precision = Precision::bf16;
  plan.optimizer = Optimizer::adamw;
  return plan;
}

double value_of(const SettingRow& row, const std::string& word) {
  if (row.kind == SettingKind::flag) return word == "yes" ? 1 : 0;
  if (row.kind != SettingKind::name) return std::stod(word);
  const auto found = std::find(row.names.begin(), row.names.end(), word);
  REQUIRE(found != row.names.end());
  return static_cast<double>(found - row.names.begin());
}

LaunchOutcome outcome_of(const Question& question, std::string_view tool) {
  StudySpec spec;
  spec.model = question.model;
  spec.machine = "dgx-h100";
  if (!question.setting.empty()) {
    const SettingRow* const row = find_setting(question.setting);
    REQUIRE(row != nullptr);
    spec.settings.set(*row, {value_of(*row, question.word), SettingOrigin::option, {}});
  }
  const Study study(spec);
  Estimate estimate;
  estimate.plan = question.plan;
  const auto launcher =
      std::find_if(launchers().begin(), launchers().end(), [&](const Launcher& each) { return each.name == tool; });
  REQUIRE(launcher != launchers().end());
  return launch_outcome(*launcher, study, estimate);
}

std::string text_of(const LaunchOutcome& outcome) {
  std::string text;
  if (const auto* launch = std::get_if<Launch>(&outcome)) {
    for (const FolderFile& file : launch->files) text += file.content;
  }
  return text;
}

std::string reason_of(const LaunchOutcome& outcome) {
  const auto* cannot = std::get_if<CannotLaunch>(&outcome);
  return cannot == nullptr ? "" : cannot->reason;
}

}  // namespace

TEST_CASE("the PyTorch script has the optimizers that its launcher accepts") {
  std::string script;
  for (const EmbeddedFile& file : launch_scripts()) {
    if (file.name == "train") script = file.content;
  }
  for (const Optimizer optimizer : enum_values<Optimizer>) {
    Plan plan = plan_of(Axis::data, 1, 0);
    plan.optimizer = optimizer;
    INFO(to_string(optimizer));
    const bool is_in_script =
        script.find(fmt::format("plan.OPTIMIZER == \"{}\"", to_string(optimizer))) != std::string::npos;
    CHECK(is_in_script == reason_of(outcome_of({.model = "resnet50", .plan = plan}, "PyTorch")).empty());
  }
}

TEST_CASE("launch files carry the settings of the training, or are refused") {
  const Plan data = plan_of(Axis::data, 1, 0), sharded = plan_of(Axis::data, 1, 3), updates = plan_of(Axis::data, 1, 1);
  CHECK(text_of(outcome_of({.setting = "compress", .word = "powersgd", .plan = data}, "PyTorch"))
            .find("COMPRESSION = \"powersgd\"") != std::string::npos);
  CHECK(text_of(outcome_of({.setting = "moments", .word = "fp8", .plan = updates}, "Megatron-LM"))
            .find("--exp-avg-dtype fp8") != std::string::npos);
  CHECK(text_of(outcome_of({.model = "mixtral-8x7b", .setting = "capacity_factor", .word = "1.25", .plan = updates},
                           "Megatron-LM"))
            .find("--moe-expert-capacity-factor 1.25") != std::string::npos);
  for (const Launcher& launcher : launchers()) {
    if (launcher.name == submitter) continue;
    INFO(launcher.name);
    for (const auto& [setting, word] :
         {std::pair{"compress", "topk"}, {"synchronization", "gossip"}, {"allreduce", "sparse"}}) {
      for (const Plan& plan : {data, sharded, updates})
        CHECK_FALSE(reason_of(outcome_of({.setting = setting, .word = word, .plan = plan}, launcher.name)).empty());
    }
    for (const Plan& plan : {data, sharded, updates})
      CHECK_FALSE(
          reason_of(outcome_of({.setting = "mixed_precision", .word = "pure", .plan = plan}, launcher.name)).empty());
  }
  // The values that every tool has.
  CHECK(reason_of(outcome_of({.setting = "compress", .word = "none", .plan = data}, "Megatron-LM")).empty());
  CHECK(reason_of(outcome_of({.setting = "allreduce", .word = "ring", .plan = data}, "Megatron-LM")).empty());
  CHECK(reason_of(outcome_of({.setting = "straggler", .word = "1.1", .plan = data}, "Megatron-LM")).empty());
}

TEST_CASE("launchers refuse what their runtimes refuse at the start") {
  const auto starts = [](const std::string& model, const Plan& plan, std::string_view tool) {
    return reason_of(outcome_of({.model = model, .plan = plan}, tool)).empty();
  };
  // GPT-2 XL has 25 heads; Llama 3 8B has 8 key-value heads.
  CHECK_FALSE(starts("gpt2-xl", plan_of(Axis::tensor, 2, 0), "Megatron-LM"));
  CHECK_FALSE(starts("llama3-8b", plan_of(Axis::tensor, 16, 0), "NeMo"));
  CHECK(starts("llama3-8b", plan_of(Axis::tensor, 8, 0), "Megatron-LM"));
  Plan plan = plan_of(Axis::tensor, 2, 0);
  CHECK_FALSE(starts("mixtral-8x7b", plan, "Megatron-LM"));
  plan.sequence_parallel = true;
  CHECK(starts("mixtral-8x7b", plan, "Megatron-LM"));
  plan = plan_of(Axis::data, 1, 1);
  CHECK(starts("llama3-8b", plan, "Megatron-LM"));
  plan.optimizer = Optimizer::momentum;
  CHECK_FALSE(starts("llama3-8b", plan, "Megatron-LM"));
  CHECK(text_of(outcome_of({.plan = plan}, "DeepSpeed")).find("\"zero_allow_untested_optimizer\": true") !=
        std::string::npos);
  plan = plan_of(Axis::data, 1, 0);
  plan.offload = Offload::weights;
  CHECK_FALSE(starts("llama3-8b", plan, "torchtitan"));
  // torchtitan distributes 32 layers, the embedding and the head to 3 stages, but not to 64.
  for (const int stages : {3, 64}) {
    plan = plan_of(Axis::data, 1, 0);
    plan.mesh.set(Axis::data, 8);
    plan.mesh.set(Axis::pipeline, stages);
    plan.micro_batches = stages;
    plan.global_batch = std::int64_t{8} * stages;
    INFO(stages << " stages");
    CHECK(starts("llama3-8b", plan, "torchtitan") == (stages == 3));
  }
  plan = plan_of(Axis::pipeline, 2, 0);
  plan.schedule = Schedule::zero_bubble_v;
  plan.micro_batches = 2;
  const std::string uncompiled = text_of(outcome_of({.plan = plan}, "torchtitan"));
  CHECK(uncompiled.find("ZBVZeroBubble") != std::string::npos);
  CHECK(uncompiled.find("[compile]\nenable = false") != std::string::npos);
  // 17 GPUs fill no equal nodes of at most 8; 12 GPUs are two nodes of 6.
  plan = plan_of(Axis::data, 1, 0);
  plan.mesh.set(Axis::data, 17);
  plan.global_batch = 17;
  CHECK(reason_of(outcome_of({.plan = plan}, "Megatron-LM")).find("17 devices") != std::string::npos);
  plan.mesh.set(Axis::data, 12);
  plan.global_batch = 12;
  CHECK(starts("llama3-8b", plan, "Megatron-LM"));
}

TEST_CASE("a batch job starts the first of the files that are written") {
  StudySpec spec;
  spec.model = "llama3-8b";
  spec.machine = "dgx-h100";
  const Study study(spec);
  Estimate estimate;
  estimate.plan = plan_of(Axis::data, 1, 3);
  const Launcher& slurm = launchers().back();
  CHECK_FALSE(reason_of(launch_outcome(slurm, study, estimate)).empty());
  int written = 0;
  for (const Launcher& launcher : launchers()) {
    const LaunchOutcome outcome = launch_outcome(launcher, study, estimate);
    const auto* launch = std::get_if<Launch>(&outcome);
    if (launch == nullptr || launcher.name == submitter) continue;
    ++written;
    INFO(launcher.name);
    CHECK(text_of(launch_outcome(slurm, study, estimate, {launch, 1})).find(launch->job.command) != std::string::npos);
    // Each file of the launch folder that the command names is written.
    for (std::size_t at = launch->job.command.find("launch/"); at != std::string::npos;
         at = launch->job.command.find("launch/", at + 1)) {
      const std::string name = launch->job.command.substr(at, launch->job.command.find('"', at) - at);
      CHECK(std::any_of(launch->files.begin(), launch->files.end(),
                        [&](const FolderFile& file) { return file.name == name; }));
    }
  }
  CHECK(written >= 3);
}

}  // namespace launched_settings_tests
