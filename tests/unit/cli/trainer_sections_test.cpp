// Tests of files with the arguments of Hugging Face's Trainer in sections.

#include "cli/options/configurations/trainer_sections.hpp"

#include <string>

#include "tests/catch.hpp"

namespace trainer_sections_tests {

using namespace ddl;

namespace {

const std::string trainer = "training: {per_device_train_batch_size: 1, output_dir: out}\n";

ConfigEntries unwrapped(const std::string& text) {
  ConfigEntries settings = yaml_settings(text, "run.yaml");
  unwrap_trainer_sections(settings);
  return settings;
}

/// Returns the name that a key of the file has afterwards; empty if it is dropped.
std::string name_of(const std::string& written, const std::string& text) {
  for (const ConfigEntry& each : unwrapped(text)) {
    if (each.shown_key() == written) return each.key;
  }
  return {};
}

std::string model_in(const std::string& text) {
  for (const ConfigEntry& each : unwrapped(text)) {
    if (each.key == "model_name_or_path" || each.key == "model_id") return each.value;
  }
  return {};
}

}  // namespace

TEST_CASE("only whole words in a section's name say what the section describes") {
  for (const std::string section : {"general", "agent", "latest", "preferences", "training_args2"}) {
    INFO(section);
    CHECK(name_of(section + ".bf16", trainer + section + ": {bf16: true}\n") == "bf16");
  }
  for (const std::string section : {"gen", "gen_args", "generation", "eval-config", "evalConfig", "evaluation", "test2",
                                    "ref_model", "vllm_args", "rewards"}) {
    INFO(section);
    CHECK(name_of(section + ".bf16", trainer + section + ": {bf16: true}\n") == section + ".bf16");
  }
  for (const std::string section : {"tags", "output_files", "datasets", "metadata"}) {
    INFO(section);
    CHECK(name_of(section + ".kind", trainer + section + ": {kind: a}\n").empty());
  }
  CHECK(name_of("hashtags.kind", trainer + "hashtags: {kind: a}\n") == "hashtags.kind");
  CHECK(name_of("lora_config.r", trainer + "lora_config: {r: 8}\n") == "lora_r");
  CHECK(name_of("explora.r", trainer + "explora: {r: 8}\n") == "explora.r");
}

TEST_CASE("degrees of parallelism are not the Trainer's, but the size of a step is") {
  CHECK(name_of("training.output_dir", trainer + "schedule: {step_size: 30}\n") == "output_dir");
  CHECK(name_of("training.output_dir", trainer + "mesh: {ep_size: 8}\n") == "training.output_dir");
  CHECK(name_of("training.output_dir", trainer + "mesh: {tensor_parallel_degree: 8}\n") == "training.output_dir");
}

TEST_CASE("the most definite key names the model, in any order of the keys") {
  CHECK(model_in(trainer + "model: {name: my-run, base_model: org/net}\n") == "org/net");
  CHECK(model_in(trainer + "model: {base_model: org/net, name: my-run}\n") == "org/net");
  CHECK(model_in(trainer + "model: {id: 3, path: models/net}\n") == "models/net");
  CHECK(model_in(trainer + "model: {path: cache/a, name_or_path: org/net}\n") == "org/net");
  CHECK(model_in(trainer + "model: {name: org/net}\n") == "org/net");
  CHECK(model_in(trainer + "model: {model_id: my-run, base_model: org/net}\n") == "org/net");
  CHECK(model_in("model: {name: my-run}\n" + trainer + "settings: {model_name_or_path: org/net}\n") == "org/net");
  // The trainer's section has precedence.
  CHECK(model_in(
            "model: {name_or_path: org/other}\ntraining: {per_device_train_batch_size: 1, model_name_or_path: org/net}\n") ==
        "org/net");
  CHECK(name_of("model.name", trainer + "model: {name: my-run, base_model: org/net}\n") == "model.name");
}

}  // namespace trainer_sections_tests
