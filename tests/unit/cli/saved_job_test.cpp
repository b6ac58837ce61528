// Tests that a job written by `recommend --save-job` is checked with the result of the report that the job comes from.

#include <filesystem>
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
      "--model vit_b_16 --strategy data --degrees data=4 --precision fp16 --mixed-precision autocast --older-framework "
      "--optimizer adamw --optimizer-implementation fused",
      "--model resnet50 --strategy data --degrees data=8 --allreduce parameter-server --parameter-servers 3 --input leader",
      "--model resnet50 --strategy data --degrees data=8 --allreduce sparse --sparse-density 0.003 --input-exposed",
      "--model gpt2 --strategy tensor+data --degrees tensor=2,data=2 --mixed-precision full --zero 2 --micro-batches 4 "
      "--global-batch 64",
      "--model gpt2-medium --strategy data+pipeline --degrees data=2,pipeline=4 --schedule gpipe --micro-batches 8 "
      "--recompute "
      "full",
      "--model bert-base --machine dgx-h100 --gpus 16 --precision fp32 --optimizer lamb",
      "--model llama2-7b --machine dgx-h100 --gpus 64 --batch-per-gpu 1 --mixed-precision full",
      "--model unet --machine abci --gpus 4 --batch-per-gpu 2 --coefficients none --optimizer adafactor",
      "--model cosmoflow-256 --machine abci --strategy data+spatial --degrees data=2,spatial=1x2x2 --placement data,spatial",
      "--model dlrm --machine cpu-cluster --gpus 4",
      "--model resnet50 --machine alps --gpus 16 --congestion p99.5",
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
  }
}

}  // namespace

}  // namespace saved_job_tests
