#include "cli/options/plan_file.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "calibration/inputs/plan_degrees.hpp"
#include "cli/report/fields.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace plan_file_tests {

using namespace ddl;
using Json = nlohmann::ordered_json;

namespace {

/// Generates plans of all kinds, equal in each call of the test.
class RandomPlans {
 public:
  Plan next() {
    Plan plan;
    std::int64_t left = std::int64_t{1} << 20;
    for (int& degree : plan.mesh.degrees()) {
      // Half of the degrees stay 1. All others are small more often than large.
      if (number(0, 1) == 0) continue;
      degree = static_cast<int>(number(1, number(1, left)));
      left /= degree;
    }
    plan.global_batch = number(1, std::int64_t{1} << 40);
    plan.micro_batches = number(1, std::int64_t{1} << 40);
    plan.schedule = pick({Schedule::gpipe, Schedule::one_forward_one_backward});
    plan.zero_stage = static_cast<int>(number(0, 3));
    plan.recompute = pick({Recompute::none, Recompute::full});
    plan.optimizer = pick({Optimizer::sgd, Optimizer::momentum, Optimizer::adam});
    plan.precision = pick({Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16});
    std::shuffle(plan.placement.begin(), plan.placement.end(), engine_);
    return plan;
  }

 private:
  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  template <class T>
  T pick(std::initializer_list<T> of) {
    return *(of.begin() + number(0, static_cast<std::int64_t>(of.size()) - 1));
  }
  std::mt19937 engine_{20211021};
};

constexpr int many = 2000;

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

/// Returns `plan` with all degrees reset to 1.
Plan without_degrees(Plan plan) {
  plan.mesh = {};
  return plan;
}

std::string degrees_error(const std::string& text) {
  return error_of([&] {
    Plan plan;
    parse_degrees(text, plan);
  });
}

std::string plan_error(const std::string& text) {
  const std::string error = error_of([&] { (void)read_plan(text, "p.json"); });
  return error.substr(0, error.find('\n'));
}

}  // namespace

TEST_CASE("degrees are read back as they are printed") {
  RandomPlans plans;
  for (int i = 0; i < many; ++i) {
    const Plan plan = plans.next();
    std::string text = degrees_text(plan.mesh);
    INFO(text);
    std::replace(text.begin(), text.end(), ' ', ',');
    Plan again = without_degrees(plan);
    if (plan.mesh.family() != 0) parse_degrees(text, again);
    CHECK(again == plan);
  }
}

TEST_CASE("degrees may be in any order, and degrees of 1 may be given") {
  Plan plan;
  parse_degrees("spatial=1x2,pipeline=1,data=64", plan);
  CHECK(degrees_text(plan.mesh) == "data=64 spatial=1x2");
}

TEST_CASE("text that is not a degree is refused with its text") {
  CHECK(degrees_error("data=0") == "'0' in 'data=0' is not a degree\nhint: a degree is a whole number from 1 to 1048576");
  for (const char* bad : {"",
                          "64",
                          "data",
                          "data=",
                          "data=-1",
                          "data=1.5",
                          "data=1e3",
                          "data= 4",
                          "data=4 ",
                          "data=4x4",
                          "data=2147483649",
                          "data=18446744073709551617",
                          "spatial=",
                          "spatial=2x",
                          "spatial=x2",
                          "spatial=2x2x2x2",
                          "data=2,",
                          ",data=2",
                          "data=2,data=2",
                          "data=1048576,filter=2",
                          "nothing=2",
                          "DATA=2"}) {
    INFO(bad);
    CHECK(degrees_error(bad) != "no error");
  }
}

TEST_CASE("a placement is read back as it is printed") {
  RandomPlans plans;
  for (int i = 0; i < many; ++i) {
    const Plan plan = plans.next();
    std::vector<std::string> names;
    for (const Axis axis : plan.placement) names.emplace_back(to_string(axis));
    INFO(joined(names));
    CHECK(parse_placement(joined(names)) == plan.placement);
  }
}

TEST_CASE("axes that a placement leaves out follow in their own order") {
  using enum Axis;
  CHECK(parse_placement("data") == std::array{data, tensor, channel, filter, context, spatial, expert, pipeline});
  CHECK(parse_placement("layer,filter") == std::array{pipeline, filter, tensor, channel, context, spatial, expert, data});
}

TEST_CASE("an unknown axis, or one placed twice, is refused") {
  CHECK(error_of([] { (void)parse_placement("data,dta"); }) == "unknown strategy 'dta'\nhint: did you mean 'data'?");
  CHECK(error_of([] { (void)parse_placement("data,filter,data"); }) ==
        "'data' is given twice in the placement 'data,filter,data'\nhint: keep only one of them");
  CHECK(error_of([] { (void)parse_placement(""); }) != "no error");
}

TEST_CASE("a plan is read back as it is written in JSON") {
  RandomPlans plans;
  for (int i = 0; i < many; ++i) {
    const Plan plan = plans.next();
    const std::string text = json_of(plan_fields(), plan).dump(i % 3 - 1);
    INFO(text);
    CHECK(read_plan(text, "p.json").plan == plan);
  }
}

TEST_CASE("the best plan of a report is the plan of the report") {
  Plan plan;
  plan.mesh.set(Axis::data, 64);
  plan.global_batch = 2048;
  const Json report = {{"schema", 1}, {"best", json_of(plan_fields(), plan)}, {"plans", Json::array()}};
  CHECK(read_plan(report.dump(), "p.json").plan == plan);
}

TEST_CASE("a report says whether its price is of whole nodes") {
  const auto read = [](const std::string& inputs) {
    return read_plan(R"({"best": {"degrees": {"data": 4}, "global_batch": 128}, "plans": [], "inputs": )" + inputs + "}",
                     "p.json");
  };
  CHECK(read(R"({"price_per_gpu_hour": 2, "currency": "USD", "rents_nodes": true})").rents_nodes == true);
  CHECK(read(R"({"price_per_gpu_hour": 2, "currency": "USD", "rents_nodes": false})").rents_nodes == false);
  // A machine without a price, and a report of an older version.
  CHECK_FALSE(read(R"({"price_per_gpu_hour": null, "rents_nodes": null})").rents_nodes);
  CHECK_FALSE(read(R"({"price_per_gpu_hour": 2, "currency": "USD"})").rents_nodes);
  CHECK(error_of([&] { (void)read(R"({"rents_nodes": 1})"); }).find("'rents_nodes' is neither true nor false") !=
        std::string::npos);
}

TEST_CASE("choices that a file lacks have their defaults, and are marked as not given") {
  const PlanFile open = read_plan(R"({"degrees": {"data": 4}, "global_batch": 128})", "p.json");
  Plan expected;
  expected.mesh.set(Axis::data, 4);
  expected.global_batch = 128;
  CHECK(open.plan == expected);
  CHECK_FALSE(open.optimizer.has_value());
  CHECK_FALSE(open.precision.has_value());

  const PlanFile said =
      read_plan(R"({"degrees": {}, "global_batch": 1, "optimizer": "adam", "precision": "bf16"})", "p.json");
  CHECK(said.optimizer == Optimizer::adam);
  CHECK(said.plan.optimizer == Optimizer::adam);
  CHECK(said.precision == Precision::bf16);
  CHECK(said.plan.precision == Precision::bf16);
}

TEST_CASE("a degree of the plan's file is refused unless it is a number of devices") {
  for (const char* bad : {"0", "-1", "1.0", "1.5", "\"4\"", "true", "null", "[4]", "1048577", "18446744073709551615"}) {
    INFO(bad);
    CHECK(plan_error(R"({"degrees": {"data": )" + std::string(bad) + R"(}, "global_batch": 8})") ==
          "p.json:1:22: 'data' is not a whole number from 1 to 1048576");
    CHECK(plan_error(R"({"degrees": {"spatial": [1, )" + std::string(bad) + R"(]}, "global_batch": 8})") ==
          "p.json:1:25: 'spatial' has an entry that is not a whole number from 1 to 1048576");
  }
}

TEST_CASE("a plan with any value of a wrong type is refused") {
  RandomPlans plans;
  const Json good = json_of(plan_fields(), plans.next());
  for (const auto& [key, value] : good.items()) {
    for (const Json& other :
         {Json(nullptr), Json(true), Json(-1), Json(0.5), Json("words"), Json::array({1}), Json::object({{"a", 1}})}) {
      Json bad = good;
      bad[key] = other;
      INFO(bad.dump());
      CHECK(plan_error(bad.dump()).starts_with("p.json:1:"));
    }
  }
}

TEST_CASE("a plan without its degrees or its batch is refused") {
  RandomPlans plans;
  for (const char* key : {"degrees", "global_batch"}) {
    Json bad = json_of(plan_fields(), plans.next());
    bad.erase(key);
    CHECK(plan_error(bad.dump()) == "p.json:1:1: '" + std::string(key) + "' is missing");
  }
}

TEST_CASE("the choices of a plan in addition to its degrees are printed in a few words") {
  Plan plan;
  CHECK(choices_text(plan).empty());
  plan.micro_batches = 8;
  CHECK(choices_text(plan) == "8 micro-batches");
  plan.mesh.set(Axis::pipeline, 4);
  plan.mesh.set(Axis::data, 2);
  CHECK(choices_text(plan) == "8 micro-batches 1f1b");
  plan.schedule = Schedule::gpipe;
  plan.zero_stage = 3;
  plan.recompute = Recompute::full;
  CHECK(choices_text(plan) == "8 micro-batches gpipe, ZeRO-3, recompute");
  plan.micro_batches = 1;
  CHECK(choices_text(plan) == "gpipe, ZeRO-3, recompute");
}

TEST_CASE("a whole report states the model and machine of its plan, but a plan alone does not") {
  const std::string plan = R"({"degrees": {"data": 4}, "global_batch": 128})";
  const PlanFile report =
      read_plan(R"({"best": )" + plan + R"(, "inputs": {"model": "vgg16", "machine": "abci"}})", "report.json");
  CHECK(report.model == "vgg16");
  CHECK(report.machine == "abci");
  CHECK(report.given == std::set<std::string>{"degrees", "global_batch"});
  CHECK_FALSE(read_plan(plan, "plan.json").model.has_value());
}

}  // namespace plan_file_tests
