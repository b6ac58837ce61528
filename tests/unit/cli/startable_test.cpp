#include "cli/documents/startable.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "calibration/inputs/software_file.hpp"
#include "tests/catch.hpp"
#include "tests/unit/cli/run_command.hpp"

namespace startable_tests {

using namespace ddl;
using Json = nlohmann::ordered_json;

TEST_CASE("every framework has a software file and a launcher") {
  const std::vector<std::string> software = software_names();
  for (const Framework& each : frameworks()) {
    INFO(each.name);
    CHECK(framework_named(each.name) == &each);
    CHECK(std::find(software.begin(), software.end(), each.software) != software.end());
    CHECK(std::any_of(launchers().begin(), launchers().end(),
                      [&](const Launcher& launcher) { return launcher.name == each.launcher; }));
  }
  CHECK(framework_named("") == nullptr);
}

TEST_CASE("the launcher of --for starts the best plan, which is predicted with the framework's software") {
  for (const Framework& each : frameworks()) {
    INFO(each.name);
    const bool trains_images = (each.axes & family_bit(Axis::pipeline)) == 0;
    const std::string model = trains_images ? "resnet50" : "llama3-8b";
    const Json report =
        run_command({"recommend", model, "--machine", "dgx-h100", "--gpus", "16", "--for", std::string(each.name)}).json();
    const Json& tools = report.at("start").at("tools");
    CHECK(std::find(tools.begin(), tools.end(), Json(each.launcher)) != tools.end());
    CHECK(report.at("start").at("plan").is_null());
    CHECK(report.at("inputs").at("software") == each.software);
    CHECK(report.at("search").at("framework") == each.name);
    for (const Json& plan : report.at("plans")) {
      if (plan.at("rank").is_null()) continue;
      CHECK(plan.at("zero_stage").get<int>() <= each.most_zero);
    }
  }
}

TEST_CASE("--for searches tensor degrees that divide the attention heads") {
  // Tensor degrees of 5 or 10 do not divide the 32 heads and the 8 key-value heads of Llama 3 8B.
  for (const char* gpus : {"10", "40"}) {
    const Json report =
        run_command({"recommend", "llama3-8b", "--machine", "h100", "--gpus", gpus, "--batch", gpus, "--for", "megatron"})
            .json();
    REQUIRE_FALSE(report.at("plans").empty());
    for (const Json& plan : report.at("plans")) {
      if (!plan.at("rank").is_null()) CHECK(8 % plan.at("degrees").value("tensor", 1) == 0);
    }
  }
}

TEST_CASE("--for ddp predicts the fp32 weights that its script keeps under autocast") {
  const auto memory_of = [](const std::vector<std::string>& more) {
    std::vector<std::string> words{"recommend", "llama3.2-1b", "--machine", "h100",  "--gpus",
                                   "8",         "--batch",     "64",        "--for", "ddp"};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(words).json().at("plans").at(0).at("memory").dump();
  };
  CHECK(memory_of({}) == memory_of({"--mixed-precision", "autocast"}));
}

TEST_CASE("if no tool starts the best plan, a plan that differs in a choice is named, unless the user fixed the choice") {
  const std::vector<std::string> question{"recommend", "llama3-8b",  "--machine",     "dgx-h100", "--gpus",
                                          "16",        "--strategy", "data+pipeline", "--top",    "1"};
  const auto start_with = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words = question;
    words.insert(words.end(), options.begin(), options.end());
    return run_command(words).json().at("start");
  };
  // No launcher has the hpZ groups of ZeRO++ with a pipeline: Megatron-LM and torchtitan have no hpZ, DeepSpeed no pipeline.
  const Json start = start_with({"--secondary-shards", "8"});
  CHECK(start.at("tools").empty());
  CHECK(start.at("plan").is_null());
  CHECK_FALSE(start_with({}).at("tools").empty());
}

TEST_CASE("JSON names the tools in whose software a plan does not fit, as the text does") {
  // torchtitan compiles the model and its loss, so that its plan keeps fewer tensors than those of other tools.
  const std::vector<std::string> words{"recommend",  "llama3.2-3b", "--machine", "h100",
                                       "--software", "torchtitan",  "--plan",    "dp64 z2"};
  const Json start = run_command(words).json().at("start");
  for (const Json& each : start.at("too_small")) {
    CHECK(each.at("total_bytes").get<double>() > 79e9);
    CHECK(std::find(start.at("tools").begin(), start.at("tools").end(), each.at("tool")) == start.at("tools").end());
  }
  CHECK_FALSE(start.at("too_small").empty());
}

TEST_CASE("no tool has launch files for spatial parallelism") {
  const Json start = run_command({"recommend", "resnet50", "--gpus", "8", "--strategy", "data+spatial"}).json().at("start");
  CHECK(start.at("tools").empty());
  CHECK(start.at("plan").is_null());
}

}  // namespace startable_tests
