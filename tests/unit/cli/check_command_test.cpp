// Tests of verdicts on jobs and configurations that a CI system reads.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/unit/cli/run_command.hpp"

namespace check_command_tests {

using namespace ddl;
using Json = nlohmann::ordered_json;

namespace {

/// A folder for the files of a test.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / "ddl-check-command-test") {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

std::string job(int batch) {
  return "format: 1\nmodel: resnet50\nmachine: abci\nbatch_per_gpu: " + std::to_string(batch) +
         "\nplan: {strategy: data, gpus: 4}\n";
}

/// Returns the message of the problem with the only job; empty if it was checked.
std::string problem_of(const std::vector<std::string>& words) {
  const Json checked = run_command(words).json()["jobs"][0];
  return checked["problem"].is_null() ? "" : checked["problem"]["message"].get<std::string>();
}

const std::string megatron =
    "torchrun --nproc-per-node 8 --nnodes 3 pretrain_gpt.py --num-layers 32 --hidden-size 1024 --num-attention-heads 16 "
    "--seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 96 --bf16 "
    "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear "
    "--untie-embeddings-and-output-weights ";

}  // namespace

TEST_CASE("all formats state that a job grew too much") {
  const Folder folder;
  const std::string before = folder.write("before.job.yaml", job(8)), after = folder.write("after.job.yaml", job(64));
  const std::vector<std::string> words{"check", after, "--against", before, "--max-increase"};
  const auto with = [&](const char* most) {
    std::vector<std::string> all = words;
    all.emplace_back(most);
    return run_command(all);
  };
  const Report grown = with("1MiB"), allowed = with("100GiB");
  CHECK(grown.status == ExitStatus::beyond_tolerance);
  CHECK(allowed.status == ExitStatus::ok);
  CHECK(grown.json()["jobs"][0]["exit"] == 1);
  CHECK(grown.json()["against"][0]["grew_too_much"] == true);
  CHECK(allowed.json()["against"][0]["grew_too_much"] == false);
  CHECK(grown.rows()[0]["grew_too_much"] == true);
  REQUIRE(grown.verdicts.size() == 1);
  CHECK(grown.verdicts[0].level == FileVerdict::Level::failed);
  CHECK(grown.verdicts[0].title == "GREW-TOO-MUCH");
  CHECK(grown.verdicts[0].message.find("at most 1.00 MiB are allowed") != std::string::npos);
  CHECK(allowed.verdicts[0].level == FileVerdict::Level::passed);
}

TEST_CASE("a check has the interval of the step") {
  const Folder folder;
  const Json checked = run_command({"check", folder.write("a.job.yaml", job(8))}).json()["jobs"][0];
  CHECK(checked["plan"]["interval"]["iteration_low_s"] < checked["plan"]["time"]["iteration_s"]);
}

TEST_CASE("a job without time for proposals has a verdict") {
  const Folder folder;
  const Json checked =
      run_command({"check", folder.write("a.job.yaml", job(2048)), "--time-limit", "1ns"}).json()["jobs"][0];
  CHECK(checked["verdict"] == "DOES-NOT-FIT");
  CHECK(checked["interrupted"] == true);
  CHECK(checked["changes"].empty());
}

TEST_CASE("keys of a job without effect are named") {
  const Folder folder;
  const std::string text = job(8) + "capacity_factor: 1.5\n";
  const Report report = run_command({"check", folder.write("a.job.yaml", text)});
  CHECK(std::any_of(report.warnings.begin(), report.warnings.end(),
                    [](const std::string& each) { return each.find("'capacity_factor: 1.5' has no effect on") == 0; }));
}

TEST_CASE("a configuration whose further file is not there is not judged") {
  const Folder folder;
  const std::string script =
      folder.write("run.sh",
                   "deepspeed --num_gpus 8 train.py --deepspeed missing.json --model_name_or_path meta-llama/Llama-2-13b-hf "
                   "--bf16 True --per_device_train_batch_size 1\n");
  CHECK(problem_of({"check", script, "--machine", "h100"}).find("the file 'missing.json' is not read") != std::string::npos);
}

TEST_CASE("a job is not said to need too much memory if an argument that lowers memory is not modeled") {
  const Folder folder;
  const std::string text =
      "model_name_or_path: meta-llama/Llama-2-7b-hf\nfinetuning_type: full\ncutoff_len: 2048\nbf16: true\n"
      "per_device_train_batch_size: 1\n";
  const std::vector<std::string> options{"--machine", "workstation-rtx4090", "--gpus", "1"};
  const auto checked = [&](const std::string& more) {
    std::vector<std::string> words{"check", folder.write("lf.yaml", text + more)};
    words.insert(words.end(), options.begin(), options.end());
    return run_command(words).json()["jobs"][0];
  };
  CHECK(checked("")["verdict"] == "DOES-NOT-FIT");
  const Json badam = checked("use_badam: true\n");
  CHECK(badam["verdict"].is_null());
  CHECK(badam["problem"]["message"].get<std::string>().find("'use_badam' lowers memory") != std::string::npos);
}

TEST_CASE("arguments that Megatron Core refuses are refused") {
  const Folder folder;
  const auto problem = [&](const std::string& more) {
    return problem_of({"check", folder.write("run.sh", megatron + more + "\n"), "--machine", "h100"});
  };
  CHECK(problem("--pipeline-model-parallel-size 3").find("32 layers do not divide into 3 equal stages") !=
        std::string::npos);
  CHECK(problem("--pipeline-model-parallel-size 3 --decoder-first-pipeline-num-layers 12") == "");
  CHECK(problem("--num-experts 6 --expert-model-parallel-size 6 --tensor-model-parallel-size 4 --sequence-parallel") == "");
  CHECK(problem("--num-experts 6 --expert-model-parallel-size 6 --tensor-model-parallel-size 4")
            .find("experts with tensor parallelism need sequence parallelism") != std::string::npos);
}

TEST_CASE("batch arguments that contradict each other are refused for any number of GPUs") {
  const Folder folder;
  const std::string file =
      folder.write("ds.json",
                   R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4,
          "bf16": {"enabled": true}, "zero_optimization": {"stage": 3}})");
  const auto problem = [&](const char* gpus) {
    return problem_of({"check", file, "--model", "llama3-8b", "--machine", "h100", "--gpus", gpus});
  };
  CHECK(problem("8") == "");
  CHECK(problem("4").find("4 accumulation steps contradict a batch of 64") != std::string::npos);
  CHECK(problem("16").find("4 accumulation steps contradict a batch of 64") != std::string::npos);
}

TEST_CASE("the fused loss of axolotl's plugins needs less memory") {
  const Folder folder;
  const std::string text =
      "base_model: meta-llama/Llama-3.1-8B\nsequence_len: 8192\nmicro_batch_size: 4\ngradient_checkpointing: true\n"
      "fsdp_version: 2\nfsdp_config:\n  reshard_after_forward: true\n";
  const auto bytes = [&](const std::string& more) {
    const std::string file = folder.write("axo.yaml", text + more);
    return run_command({"check", file, "--machine", "h100", "--gpus", "8"})
        .json()["jobs"][0]["plan"]["memory"]["total_bytes"]
        .get<double>();
  };
  const double usual = bytes("");
  CHECK(bytes("plugins: [axolotl.integrations.liger.LigerPlugin]\nliger_fused_linear_cross_entropy: true\n") < 0.6 * usual);
  CHECK(bytes("plugins: [axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin]\n") < 0.6 * usual);
  CHECK(bytes("plugins: [axolotl.integrations.liger.LigerPlugin]\n") == usual);
}

}  // namespace check_command_tests
