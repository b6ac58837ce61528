// Tests guarantees for programs: the keys of the reports in JSON, and numbers where numbers are expected.

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/options/plan_file.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/formats/format.hpp"
#include "core/csv.hpp"
#include "estimator/search/search.hpp"
#include "tests/catch.hpp"
#include "tests/unit/cli/run_command.hpp"

namespace report_json_tests {

using namespace ddl;
using Json = nlohmann::ordered_json;

namespace {

using Names = std::set<std::string>;

const Names plan_keys{"rank",
                      "strategy",
                      "degrees",
                      "feasible",
                      "verdict",
                      "global_batch",
                      "micro_batches",
                      "schedule",
                      "virtual_stages",
                      "first_stage_blocks",
                      "last_stage_blocks",
                      "placement",
                      "plan",
                      "zero_stage",
                      "recompute",
                      "recompute_blocks",
                      "recompute_modules",
                      "sequence_parallel",
                      "shard_group",
                      "context_exchange",
                      "expert_tensor",
                      "tables",
                      "offload",
                      "offload_activations",
                      "reshard_after_forward",
                      "secondary_shards",
                      "optimizer",
                      "precision",
                      "time",
                      "efficiency",
                      "cost",
                      "throughput",
                      "findings",
                      "memory",
                      "interval",
                      "reasons",
                      "reason_codes"};
const Names throughput_keys{"samples_per_s",
                            "samples_per_s_per_gpu",
                            "tokens_per_s",
                            "tokens_per_s_per_gpu",
                            "model_flop_per_s_per_gpu",
                            "hardware_flop_per_s_per_gpu",
                            "mfu",
                            "hfu"};
const Names degree_keys{"data", "expert", "spatial", "context", "pipeline", "filter", "channel", "tensor"};
const Names time_parts{
    "forward_s", "backward_s", "weight_update_s", "gradient_exchange_s", "layer_collectives_s", "halo_s", "pipeline_s",
    "bubble_s",  "input_s",    "waiting_s"};
const Names memory_parts{"weights_bytes", "gradients_bytes", "optimizer_bytes",     "activations_bytes",
                         "input_bytes",   "workspace_bytes", "communication_bytes", "context_bytes"};

Names keys_of(const Json& object) {
  Names keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

Names with(Names names, const Names& more) {
  names.insert(more.begin(), more.end());
  return names;
}

bool has_all(const Json& object, const Names& names) {
  const Names keys = keys_of(object);
  return std::includes(keys.begin(), keys.end(), names.begin(), names.end());
}

/// Returns the report as a program reads it: NaN and infinity become null.
Json written(const Report& report) { return Json::parse(report.json().dump()); }

/// Finds the places where `json` is null, as paths: `plans/0/cost`.
void find_nulls(const Json& json, const std::string& path, std::vector<std::string>& found) {
  if (json.is_null()) found.push_back(path);
  if (json.is_primitive()) return;
  for (const auto& [key, value] : json.items()) find_nulls(value, path.empty() ? key : path + "/" + key, found);
}

std::vector<std::string> nulls_in(const Json& json) {
  std::vector<std::string> found;
  find_nulls(json, "", found);
  return found;
}

/// Checks that the parts of a whole are not negative, and add up to the whole.
void check_parts(const Json& whole, const Names& parts, const std::string& sum) {
  double added = 0;
  for (const std::string& part : parts) {
    INFO(part);
    REQUIRE(whole.at(part).is_number());
    CHECK(whole.at(part).get<double>() >= 0);
    added += whole.at(part).get<double>();
  }
  CHECK(whole.at(sum).get<double>() == Approx(added).epsilon(1e-12));
  CHECK(whole.at(sum).get<double>() > 0);
}

/// Checks a plan. Closed forms have no interval, because their error was not measured.
void check_plan(const Json& plan, bool priced_machine, bool has_tokens, bool has_interval) {
  INFO(plan.dump());
  CHECK(keys_of(plan) == plan_keys);
  CHECK(keys_of(plan.at("degrees")) == degree_keys);
  CHECK(plan.at("degrees").at("spatial").size() == 3);
  CHECK(plan.at("placement").size() == axis_count);
  CHECK(plan.at("feasible").get<bool>() == plan.at("reasons").empty());
  CHECK(plan.at("reason_codes").size() == plan.at("reasons").size());
  // A plan in a report is sufficient to request it again.
  const Json again = json_of(plan_fields(), read_plan(plan.dump(), "report").plan);
  for (const auto& [key, value] : again.items()) CHECK(plan.at(key) == value);

  if (plan.at("time").is_null()) {
    // The plan was not estimated, so the report has no figures, but a reason.
    CHECK_FALSE(plan.at("reasons").empty());
    CHECK(nulls_in(plan) ==
          std::vector<std::string>{"rank", "verdict", "time", "efficiency", "cost", "throughput", "memory", "interval"});
    return;
  }
  std::vector<std::string> nulls = nulls_in(plan);
  if (!plan.at("feasible").get<bool>()) std::erase(nulls, "rank");
  if (!priced_machine) {
    std::erase(nulls, "cost");
    std::erase_if(nulls, [](const std::string& path) { return path.starts_with("interval/cost_"); });
  }
  if (!has_interval) {
    CHECK(std::erase_if(nulls, [](const std::string& path) { return path.starts_with("interval/"); }) > 0);
  }
  if (!has_tokens) std::erase_if(nulls, [](const std::string& path) { return path.starts_with("throughput/tokens_"); });
  CHECK(nulls == std::vector<std::string>{});
  CHECK(keys_of(plan.at("time")) == with(time_parts, {"iteration_s", "epoch_s"}));
  CHECK(keys_of(plan.at("memory")) == with(memory_parts, {"total_bytes", "workspace_is", "peak_allocated_bytes",
                                                          "peak_reserved_bytes", "upper_bound_bytes"}));
  check_parts(plan.at("time"), time_parts, "iteration_s");
  check_parts(plan.at("memory"), memory_parts, "total_bytes");
  for (const std::string& name : has_interval ? Names{"iteration", "epoch"} : Names{}) {
    const double time = plan.at("time").at(name + "_s").get<double>();
    CHECK(plan.at("interval").at(name + "_low_s").get<double>() <= time);
    CHECK(plan.at("interval").at(name + "_high_s").get<double>() >= time);
  }
  CHECK(plan.at("time").at("epoch_s").get<double>() > 0);
  CHECK(plan.at("efficiency").get<double>() > 0);
  const Json& throughput = plan.at("throughput");
  CHECK(keys_of(throughput) == throughput_keys);
  CHECK(throughput.at("tokens_per_s").is_number() == has_tokens);
  CHECK(throughput.at("mfu").get<double>() > 0);
  CHECK(throughput.at("hfu").get<double>() >= throughput.at("mfu").get<double>());
  CHECK(throughput.at("samples_per_s").get<double>() * plan.at("time").at("iteration_s").get<double>() ==
        Approx(plan.at("global_batch").get<double>()).epsilon(1e-12));
  for (const Json& finding : plan.at("findings")) {
    CHECK(keys_of(finding) == Names{"kind", "share", "text"});
    CHECK_FALSE(finding.at("text").get<std::string>().empty());
  }
}

}  // namespace

TEST_CASE("a report of recommend has the keys of its schema, with a value for each key") {
  struct Question {
    std::vector<std::string> arguments;
    bool priced = true;
  };
  const std::vector<Question> questions{
      {{"--gpus", "1"}},
      {{"--gpus", "64"}},
      {{"--gpus", "60", "--global-batch", "48"}},
      {{"--gpus", "64", "--global-batch", "1"}},
      {{"--gpus", "64", "--global-batch", "1099511627776"}},
      {{"--gpus", "16", "--model", "cosmoflow-256", "--machine", "abci"}, false},
      {{"--gpus", "16", "--model", "gpt2", "--machine", "dgx-h100"}},
      {{"--gpus", "16", "--ideal", "--machine", "cpu-cluster"}, false},
      {{"--gpus", "4", "--model", "gpt3-175b"}},
      {{"--gpus", "64", "--strategy", "layer"}},
      {{"--gpus", "4", "--all", "--top", "30"}},
      {{"--gpus", "8", "--objective", "memory"}},
  };
  for (const Question& question : questions) {
    std::vector<std::string> arguments{"recommend", "--top", "100"};
    if (std::find(question.arguments.begin(), question.arguments.end(), "--top") != question.arguments.end())
      arguments.resize(1);
    arguments.insert(arguments.end(), question.arguments.begin(), question.arguments.end());
    std::string said;
    for (const std::string& argument : arguments) said += argument + " ";
    INFO(said);
    const Json report = written(run_command(arguments));
    CHECK(report.at("schema") == 1);
    CHECK(has_all(report, {"schema", "best", "plans", "ratios_to_first", "inputs", "search"}));
    CHECK(has_all(report.at("search"), {"considered", "feasible", "seconds"}));
    CHECK(nulls_in(report.at("search")).empty());
    CHECK(has_all(report.at("inputs"), {"model", "dataset", "machine", "gpus", "global_batch", "defaults"}));
    const bool is_ideal = said.find("--ideal") != std::string::npos;
    const bool priced = report.at("inputs").at("machine") == "dgx-a100" || report.at("inputs").at("machine") == "dgx-h100";
    CHECK(priced == question.priced);
    REQUIRE_FALSE(report.at("plans").empty());

    int rank = 0;
    double before = 0;
    bool ended = false, at_risk = false;
    for (const Json& plan : report.at("plans")) {
      const std::string model = report.at("inputs").at("model").get<std::string>();
      check_plan(plan, priced, model.starts_with("gpt"), !is_ideal);
      if (plan.at("rank").is_null()) {
        // Impossible plans come last.
        CHECK_FALSE(plan.at("feasible").get<bool>());
        ended = true;
        continue;
      }
      CHECK_FALSE(ended);
      CHECK(plan.at("rank") == ++rank);
      const double figure = report.at("inputs").at("objective") == "memory"
                                ? plan.at("memory").at("total_bytes").get<double>()
                                : plan.at("time").at("iteration_s").get<double>();
      // Plans at risk come after plans that fit.
      if (!at_risk && plan.at("verdict") == "AT-RISK") {
        at_risk = true;
        before = 0;
      }
      CHECK(plan.at("verdict") == (at_risk ? "AT-RISK" : "FITS"));
      // Among tied plans, a simpler plan comes first.
      CHECK(figure * (1 + usual_tie) >= before);
      before = std::max(figure, before);
    }
    if (rank > 0) {
      CHECK(report.at("best") == report.at("plans").front());
    } else {
      CHECK(report.at("best").is_null());
    }
  }
}

TEST_CASE("the time and cost of a number of tokens are the time and cost of an epoch, scaled") {
  const std::vector<std::string> arguments{"recommend", "--gpus", "8", "--model", "gpt2", "--top", "3"};
  std::vector<std::string> with_tokens = arguments;
  with_tokens.insert(with_tokens.end(), {"--train-tokens", "1T"});
  const Report report = run_command(with_tokens);
  const Json json = written(report);
  CHECK(json.at("inputs").at("train_tokens") == 1e12);
  CHECK(written(run_command(arguments)).at("inputs").at("train_tokens").is_null());
  const CsvTable table = CsvTable::parse(csv_of(report.rows()), "report.csv");
  std::size_t row = 0;
  for (const Json& plan : json.at("plans")) {
    INFO(plan.dump());
    if (plan.at("rank").is_null()) continue;
    const double tokens_per_second = plan.at("throughput").at("tokens_per_s").get<double>();
    CHECK(plan.at("time").at("training_s").get<double>() == Approx(1e12 / tokens_per_second).epsilon(1e-9));
    CHECK(plan.at("training_cost").get<double>() / plan.at("cost").get<double>() ==
          Approx(plan.at("time").at("training_s").get<double>() / plan.at("time").at("epoch_s").get<double>()));
    CHECK(table.number(row, table.column("training_s")) == plan.at("time").at("training_s").get<double>());
    CHECK(table.number(row, table.column("mfu")) == plan.at("throughput").at("mfu").get<double>());
    // The plan in this report can be requested again.
    CHECK_NOTHROW(read_plan(plan.dump(), "report"));
    ++row;
  }
}

TEST_CASE("a machine without a price has plans without a cost") {
  CHECK(written(run_command({"recommend", "--gpus", "4", "--machine", "abci"})).at("best").at("cost").is_null());
  CHECK(written(run_command({"recommend", "--gpus", "4"})).at("best").at("cost").get<double>() > 0);
}

TEST_CASE("a report of recommend as CSV has the figures of the one in JSON") {
  const Report report = run_command({"recommend", "--gpus", "64", "--global-batch", "48", "--top", "100"});
  const Json json = written(report);
  const CsvTable table = CsvTable::parse(csv_of(report.rows()), "report.csv");
  REQUIRE(table.rows() == json.at("plans").size());
  std::size_t row = 0;
  for (const Json& plan : json.at("plans")) {
    CHECK(table.cell(row, table.column("strategy")) == plan.at("strategy").get<std::string>());
    const auto figure = [&](const char* column) { return table.number(row, table.column(column)); };
    if (plan.at("time").is_null()) {
      CHECK_FALSE(figure("rank").has_value());
      CHECK_FALSE(figure("iteration_s").has_value());
      CHECK_FALSE(table.cell(row, table.column("reasons")).empty());
    } else {
      CHECK(figure("rank") == plan.at("rank").get<double>());
      for (const std::string& part : with(time_parts, {"iteration_s", "epoch_s"})) {
        CHECK(figure(part.c_str()) == plan.at("time").at(part).get<double>());
      }
      CHECK(figure("total_bytes") == plan.at("memory").at("total_bytes").get<double>());
    }
    ++row;
  }
}

TEST_CASE("a report of validate has the keys of its schema, and every error is predicted over measured less one") {
  const Json report = written(run_command({"validate", "paradl-abci"}));
  CHECK(report.at("schema") == 1);
  REQUIRE(report.at("cases").size() > 100);
  std::size_t predicted = 0;
  for (const Json& one : report.at("cases")) {
    INFO(one.dump());
    CHECK(has_all(one, {"model", "strategy", "gpus", "quantity", "measured_s", "predicted_s", "ideal_s", "error"}));
    REQUIRE(one.at("measured_s").is_number());
    if (one.at("predicted_s").is_null()) {
      CHECK(one.at("error").is_null());
      CHECK_FALSE(one.at("reason").get<std::string>().empty());
      continue;
    }
    ++predicted;
    CHECK(one.at("reason").is_null());
    CHECK(one.at("ideal_s").is_number());
    if (!one.at("held").is_null()) {
      CHECK(one.at("predicted_low_s").get<double>() <= one.at("predicted_s").get<double>());
      CHECK(one.at("predicted_high_s").get<double>() >= one.at("predicted_s").get<double>());
    }
    CHECK(one.at("error").get<double>() ==
          Approx(one.at("predicted_s").get<double>() / one.at("measured_s").get<double>() - 1).margin(1e-12));
  }
  CHECK(predicted > report.at("cases").size() / 2);

  const Json& summary = report.at("summary");
  CHECK(has_all(summary, {"accuracy", "ideal_accuracy", "by_strategy", "kendall_tau"}));
  CHECK(nulls_in(summary) == std::vector<std::string>{"first_accuracy"});  // these runs were never unknown
  CHECK(summary.at("first_cases") == 0);
  std::size_t cases = 0;
  for (const auto& [strategy, group] : summary.at("by_strategy").items()) {
    INFO(strategy);
    CHECK(has_all(group, {"cases", "accuracy", "ideal_accuracy", "mean_error"}));
    cases += group.at("cases").get<std::size_t>();
  }
  CHECK(cases == report.at("cases").size());
}

TEST_CASE("accuracy is the mean over cases of one less the error's size, and 0 for a case without prediction") {
  const Json report = written(run_command({"validate", "paradl-abci", "--where", "quality=A,B", "--where", "gpus=64"}));
  double sum = 0;
  for (const Json& one : report.at("cases")) {
    if (!one.at("error").is_null()) sum += 1 - std::abs(one.at("error").get<double>());
  }
  CHECK(report.at("summary").at("accuracy").get<double>() ==
        Approx(sum / static_cast<double>(report.at("cases").size())).margin(1e-12));
}

TEST_CASE("the tolerance decides between 0 and 1") {
  CHECK(run_command({"validate", "paradl-abci", "--tolerance", "1000"}).status == ExitStatus::ok);
  CHECK(run_command({"validate", "paradl-abci", "--tolerance", "0"}).status == ExitStatus::beyond_tolerance);
}

TEST_CASE("a model in JSON has its parameters, its work and its layers, which add up") {
  const Json model = written(run_command({"models", "show", "alexnet"}));
  CHECK(model.at("schema") == 1);
  CHECK(has_all(model, {"parameters", "flops_forward", "layers"}));
  CHECK(nulls_in(model).empty());
  // torchvision 0.14.1 gives the sum of p.numel() over alexnet().parameters().
  CHECK(model.at("parameters") == 61'100'840);
  double flops = 0;
  std::int64_t parameters = 0;
  for (const Json& layer : model.at("layers")) {
    flops += layer.at("flops_forward").get<double>();
    parameters += layer.at("parameters").get<std::int64_t>();
  }
  CHECK(flops == Approx(model.at("flops_forward").get<double>()));
  CHECK(parameters == model.at("parameters").get<std::int64_t>());
}

}  // namespace report_json_tests
