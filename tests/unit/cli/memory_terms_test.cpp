// Tests that the terms of explain --memory add up to the items of the plan's memory, and to its upper bound.

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/unit/cli/run_command.hpp"

namespace memory_terms_tests {

using namespace ddl;
using Json = nlohmann::ordered_json;

namespace {

using Arguments = std::vector<std::string>;

Json explained(Arguments plan) {
  plan.insert(plan.begin(), "explain");
  plan.push_back("--memory");
  return run_command(plan).json();
}

const std::vector<Arguments>& plans() {
  static const std::vector<Arguments> all{
      {"resnet50", "--machine", "abci", "--strategy", "data", "--degrees", "data=16"},
      {"resnet50", "--strategy", "data", "--degrees", "data=8", "--idle-communicators", "3"},
      {"vgg16", "--machine", "abci", "--strategy", "data+filter", "--degrees", "data=4,filter=4", "--optimizer", "adam"},
      {"llama3-8b", "--machine", "h100", "--strategy", "data", "--degrees", "data=64", "--global-batch", "64", "--zero",
       "3"},
      {"llama3-8b", "--machine", "h100", "--strategy", "data", "--degrees", "data=64", "--global-batch", "128", "--zero",
       "2", "--micro-batches", "2"},
      {"gpt2", "--machine", "h100", "--software", "megatron", "--strategy", "data+pipeline+tensor", "--degrees",
       "data=2,pipeline=2,tensor=2", "--micro-batches", "4", "--zero", "1"},
      {"gpt2", "--machine", "h100", "--strategy", "data", "--degrees", "data=4", "--offload", "optimizer", "--zero", "1"},
      {"mixtral-8x7b", "--machine", "h100", "--strategy", "data+expert", "--degrees", "data=8,expert=8", "--zero", "3",
       "--global-batch", "64"},
      {"bert-large", "--strategy", "data", "--degrees", "data=8", "--software", "deepspeed", "--zero", "1"},
  };
  return all;
}

}  // namespace

TEST_CASE("the terms of each item of memory add up to the item, and the terms of the bound add up to the bound") {
  for (const Arguments& plan : plans()) {
    CAPTURE(plan);
    const Json report = explained(plan);
    const Json& memory = report.at("plan").at("memory");
    std::map<std::string, double> sums;
    for (const Json& term : report.at("memory_terms").at("items"))
      sums[term.at("item").get<std::string>()] += term.at("bytes").get<double>();
    double total = 0;
    for (const auto& [item, sum] : sums) {
      CAPTURE(item);
      CHECK(sum == Approx(memory.at(item + "_bytes").get<double>()).margin(2048));
      total += sum;
    }
    CHECK(total == Approx(memory.at("total_bytes").get<double>()).margin(16384));
    for (const Json& term : report.at("memory_terms").at("at_most")) {
      CHECK(term.at("bytes").get<double>() > 0);
      total += term.at("bytes").get<double>();
    }
    CHECK(total == Approx(memory.at("upper_bound_bytes").get<double>()).margin(16384));
  }
}

// Without experts, a formula gives all memory of weights and optimizer, so no term corrects it.
TEST_CASE("the terms of weights and of the optimizer explain all their memory") {
  for (const Arguments& plan : plans()) {
    if (plan.front().starts_with("mixtral")) continue;
    CAPTURE(plan);
    const Json report = explained(plan);  // outlives the loop
    for (const Json& term : report.at("memory_terms").at("items")) {
      CAPTURE(term.dump());
      CHECK(term.at("bytes").get<double>() >= 0);
      CHECK(term.at("from").get<std::string>().find("experts, which are sharded among fewer") == std::string::npos);
    }
  }
}

TEST_CASE("idle communicators take memory only on GPUs") {
  const auto buffers = [](Arguments plan, const std::string& idle) {
    plan.insert(plan.end(), {"--idle-communicators", idle});
    return explained(plan).at("plan").at("memory").at("communication_bytes").get<double>();
  };
  constexpr double each = 544.0 * 1024 * 1024;
  const Arguments on_gpus{"resnet50", "--strategy", "data", "--degrees", "data=8"};
  CHECK(buffers(on_gpus, "7") - buffers(on_gpus, "0") == Approx(7 * each));
  const Arguments on_one{"resnet50", "--strategy", "serial", "--gpus", "1"};
  CHECK(buffers(on_one, "1") == Approx(each));
  const Arguments on_processors{"resnet50", "--machine", "cpu-cluster", "--strategy", "data", "--degrees", "data=8"};
  CHECK(buffers(on_processors, "7") == buffers(on_processors, "0"));
}

}  // namespace memory_terms_tests
