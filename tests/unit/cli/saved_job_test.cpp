// Tests that a job written by `recommend --save-job` is checked with the result of the report that the job comes from.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/unit/cli/run_command.hpp"

namespace saved_job_tests {

using namespace ddl;
using Json = nlohmann::ordered_json;

namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

TEST_CASE("a saved job has the memory and all choices of the plan from which it was saved") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  int count = 0;
  const std::vector<std::string> lines{
      "--model resnet50 --gpus 8 --batch-per-gpu 64",
      "--model resnet50 --machine abci --strategy data --degrees data=4 --older-framework --no-overlap",
      "--model vgg16 --machine abci --strategy data+spatial --degrees data=2,spatial=2x2 --allreduce ring --no-input",
      "--model vit_b_16 --strategy data --degrees data=4 --precision fp16 --mixed-precision autocast --batch-per-gpu 128",
      ("--model vit_b_16 --strategy data --degrees data=4 --precision fp16 --mixed-precision autocast --older-framework "
       "--optimizer adamw --optimizer-implementation fused"),
      "--model resnet50 --strategy data --degrees data=8 --allreduce parameter-server --parameter-servers 3 --input leader",
      "--model resnet50 --strategy data --degrees data=8 --allreduce sparse --sparse-density 0.003 --input-exposed",
      ("--model gpt2 --strategy tensor+data --degrees tensor=2,data=2 --mixed-precision full --zero 2 --micro-batches 4 "
       "--global-batch 64"),
      ("--model gpt2-medium --strategy data+pipeline --degrees data=2,pipeline=4 --schedule gpipe --micro-batches 8 "
       "--recompute full"),
      "--model bert-base --machine dgx-h100 --gpus 16 --precision fp32 --optimizer lamb",
      "--model llama2-7b --machine dgx-h100 --gpus 64 --batch-per-gpu 1 --mixed-precision full",
      "--model unet --machine abci --gpus 4 --batch-per-gpu 2 --coefficients none --optimizer adafactor",
      "--model cosmoflow-256 --machine abci --strategy data+spatial --degrees data=2,spatial=1x2x2 --placement data,spatial",
      "--model dlrm --machine cpu-cluster --gpus 4",
      "--model resnet50 --machine alps --gpus 16 --congestion p99.5",
      "--model llama3.2-1b --machine h100 --gpus 16 --batch 64 --synchronization gossip --degrees data=16",
      "--model llama3.2-1b --machine h100 --strategy data --degrees data=16 --straggler 1.5 --setting attention=flash2",
      "--model llama3.2-1b --machine h100 --strategy data --degrees data=16 --gpu-memory 60GiB --margin 2GiB",
      "--model llama3.2-1b --machine h100 --strategy data --degrees data=16 --compress powersgd --local-steps 4",
      "--model llama3.2-1b --machine h100 --gpus 16 --for megatron --moments half --idle-communicators 2",
      "--model mixtral-8x7b --machine h200 --strategy expert --degrees expert=8 --routing natural --capacity-factor 1.2",
      "--model llama3.2-1b@lora=16 --machine h100 --strategy data --degrees data=8 --base nf4 --seq 1024",
  };
  for (const std::string& line : lines) {
    INFO(line);
    // The job must not be written to an input file, so it gets a name of its own.
    const std::string path = (folder / fmt::format("ddl-saved-job-{}-test.yaml", ++count)).string();
    std::vector<std::string> words{"recommend", "--save-job", path};
    for (const std::string& word : words_of(line)) words.push_back(word);
    const Json said = run_command(words).json();
    const Json found = run_command({"check", path}).json();
    const Json& job = found["jobs"][0];
    REQUIRE(job["problem"].is_null());
    const Json& plan = said["best"];
    CHECK(job["plan"]["memory"] == plan["memory"]);
    CHECK(job["plan"]["time"] == plan["time"]);
    CHECK(job["plan"]["degrees"] == plan["degrees"]);
    for (const auto& [key, value] : job["inputs"].items()) {
      INFO(key);
      CHECK(said["inputs"][key] == value);
    }
    std::filesystem::remove(path);
    // The report, which contains the same job, is explained as it was answered.
    const std::string report = (folder / fmt::format("ddl-saved-plan-{}-test.json", count)).string();
    std::ofstream(report) << said;
    const Json explained = run_command({"explain", "--plan", report}).json();
    CHECK(explained["plan"]["memory"] == plan["memory"]);
    CHECK(explained["plan"]["time"]["iteration_s"] == plan["time"]["iteration_s"]);
    CHECK(explained["inputs"]["device_memory_bytes"] == said["inputs"]["device_memory_bytes"]);
    CHECK(explained["inputs"]["software"] == said["inputs"]["software"]);
    std::filesystem::remove(report);
  }
}

TEST_CASE("options override the settings of a report of --plan") {
  const std::vector<std::string> asked{"recommend", "gpt2", "--machine", "h100", "--degrees", "data=8", "--batch", "64"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.begin(), asked.begin(), asked.end());
    return run_command(words).json();
  };
  const std::string report = (std::filesystem::temp_directory_path() / "ddl-overridden-plan-test.json").string();
  std::ofstream(report) << with({"--straggler", "1.5", "--gpu-memory", "60GiB"});
  const Json usual = with({}), explained = run_command({"explain", "--plan", report, "--straggler", "1"}).json();
  CHECK(explained["plan"]["time"]["iteration_s"] == usual["best"]["time"]["iteration_s"]);
  CHECK(explained["inputs"]["device_memory_bytes"] == 60.0 * 1024 * 1024 * 1024);
  std::filesystem::remove(report);
}

}  // namespace

}  // namespace saved_job_tests
