// Tests guarantees for programs: an explanation contains the plan's object of recommend, and layers
// and phases add up to this plan.

#include <string>
#include <vector>

#include "cli/report/formats/format.hpp"
#include "core/csv.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/unit/cli/run_command.hpp"

namespace explain_json_tests {

using namespace ddl;
using Json = nlohmann::ordered_json;

namespace {

using Arguments = std::vector<std::string>;

/// Returns the report as a program reads it: NaN and infinity become null.
Json written(const Report& report) { return Json::parse(report.json().dump()); }

Arguments with(const char* command, const Arguments& arguments, const Arguments& more = {}) {
  Arguments all{command};
  all.insert(all.end(), arguments.begin(), arguments.end());
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::string text_of(const Arguments& arguments) {
  std::string text;
  for (const std::string& argument : arguments) text += argument + " ";
  return text;
}

/// Returns plans with a predicted time: models of every kind, every strategy, and the options that change the prediction.
std::vector<Arguments> estimated_plans() {
  return {
      {"--degrees", "data=1"},
      {"--strategy", "data", "--degrees", "data=64"},
      {"--strategy", "data", "--degrees", "data=2", "--global-batch", "4096"},
      {"--strategy", "data+filter", "--degrees", "data=64,filter=4", "--model", "vgg16", "--machine", "abci"},
      {"--degrees", "channel=4", "--model", "vgg16", "--machine", "abci", "--coefficients", "none"},
      {"--strategy", "data+spatial", "--degrees", "data=4,spatial=1x1x2", "--model", "cosmoflow-256", "--machine", "abci",
       "--batch-per-gpu", "1"},
      {"--strategy", "data+pipeline", "--degrees", "data=4,pipeline=4", "--micro-batches", "8", "--schedule", "gpipe",
       "--zero", "2", "--recompute", "full"},
      {"--strategy", "data+pipeline+tensor", "--degrees", "data=2,pipeline=4,tensor=4", "--model", "gpt2", "--machine",
       "dgx-h100", "--micro-batches", "4"},
      {"--strategy", "data+pipeline", "--degrees", "data=4,pipeline=4", "--micro-batches", "4", "--ideal"},
      {"--strategy", "data", "--degrees", "data=8", "--zero", "3", "--precision", "fp16", "--optimizer", "adam"},
      {"--strategy", "data+filter", "--degrees", "data=4,filter=4", "--input", "leader", "--input-exposed", "--no-overlap"},
      {"--strategy", "data", "--degrees", "data=8", "--model", "alexnet", "--allreduce", "parameter-server"},
  };
}

void check_sums(const Json& report) {
  const Json& time = report.at("plan").at("time");
  const double step_time = time.at("iteration_s").get<double>();
  double phases = 0;
  for (const Json& phase : report.at("phases")) {
    const std::string key = phase.at("phase").get<std::string>() + "_s";
    INFO(key);
    CHECK(phase.at("time_s") == time.at(key));
    phases += phase.at("time_s").get<double>();
    double layers = 0;
    for (const Json& layer : report.at("layers")) layers += layer.at("time").at(key).get<double>();
    CHECK(layers == Approx(phase.at("time_s").get<double>()).epsilon(1e-9).margin(1e-9 * step_time));
  }
  CHECK(phases == step_time);
  double layers = 0;
  for (const Json& layer : report.at("layers")) layers += layer.at("time").at("iteration_s").get<double>();
  CHECK(layers == Approx(step_time).epsilon(1e-9));
}

}  // namespace

TEST_CASE("an explanation has the same object for the plan as recommend, and its additional parts sum to it") {
  for (const Arguments& arguments : estimated_plans()) {
    INFO(text_of(arguments));
    const Json explained = written(run_command(with("explain", arguments)));
    const Json recommended = written(run_command(with("recommend", arguments)));
    CHECK(explained.at("schema") == 1);
    // The objects are compared as text, so that the order of keys is compared, too.
    CHECK(explained.at("plan").dump() == recommended.at("best").dump());
    Json inputs = recommended.at("inputs");
    inputs.erase("objective");
    CHECK(explained.at("inputs").dump() == inputs.dump());
    CHECK(explained.at("why_not").is_null());
    CHECK(explained.at("against").is_null());
    REQUIRE_FALSE(explained.at("layers").empty());
    check_sums(explained);
    for (const Json& layer : explained.at("layers")) {
      // A layer without problems, such as flatten, runs no kernel.
      if (layer.at("problems").empty()) CHECK(layer.at("time").at("forward_s").get<double>() == 0);
      for (const Json& problem : layer.at("problems")) {
        CHECK(problem.at("time_s").is_number());
        const std::string source = problem.at("source").get<std::string>();
        CHECK((source == "measured" || source == "interpolated" || source == "curve" || source == "roofline"));
      }
      for (const Json& exchange : layer.at("exchanges")) {
        CHECK(exchange.at("ranks").get<double>() > 1);
        CHECK(exchange.at("time_s").get<double>() > 0);
        CHECK_FALSE(exchange.at("algorithm").get<std::string>().empty());
      }
    }
  }
}

TEST_CASE("the layers of an explanation are never grouped in JSON and CSV") {
  const Arguments arguments{"explain", "--model", "gpt2", "--degrees", "tensor=4"};
  const Report report = run_command(arguments);
  const Json layers = written(report).at("layers");
  const Json model = written(run_command({"models", "show", "gpt2"}));
  REQUIRE(layers.size() == model.at("layers").size());
  const CsvTable table = CsvTable::parse(csv_of(report.rows()), "layers.csv");
  REQUIRE(table.rows() == layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    CHECK(layers[i].at("name") == model.at("layers")[i].at("name"));
    CHECK(table.cell(i, table.column("name")) == layers[i].at("name").get<std::string>());
    CHECK(table.number(i, table.column("forward_s")) == layers[i].at("time").at("forward_s").get<double>());
  }
}

TEST_CASE("an impossible plan is explained by its reasons, a plan that does not fit by all tables") {
  Json report = written(run_command({"explain", "--degrees", "filter=128"}));
  CHECK(report.at("plan").at("time").is_null());
  CHECK(report.at("plan").at("memory").is_null());
  CHECK(report.at("plan").at("reasons").size() == 1);
  CHECK(report.at("layers").empty());
  CHECK(report.at("phases").empty());
  CHECK(run_command({"explain", "--degrees", "filter=128"}).status == ExitStatus::nothing_fits);

  const Arguments too_full{"explain",   "--model", "gpt3-175b",      "--strategy", "data",
                           "--degrees", "data=8",  "--global-batch", "8"};
  CHECK(run_command(too_full).status == ExitStatus::nothing_fits);
  report = written(run_command(too_full));
  CHECK_FALSE(report.at("plan").at("feasible").get<bool>());
  CHECK(report.at("plan").at("memory").at("total_bytes").get<double>() > 80e9);
  check_sums(report);

  report = written(run_command({"explain", "--strategy", "data", "--degrees", "data=100000"}));
  CHECK_FALSE(report.at("plan").at("feasible").get<bool>());
  check_sums(report);
}

TEST_CASE("explain --why-not with a strategy compares with the best plan of the strategy that recommend finds") {
  const Arguments plan{"--model",    "vgg16",       "--machine", "abci",
                       "--strategy", "data+filter", "--degrees", "data=16,filter=4"};
  for (const char* strategy : {"data", "spatial", "data+spatial", "layer", "channel", "data+tensor"}) {
    INFO(strategy);
    const Json why = written(run_command(with("explain", plan, {"--why-not", strategy}))).at("why_not");
    const Json found =
        written(run_command({"recommend", "--model", "vgg16", "--machine", "abci", "--gpus", "64", "--strategy", strategy}));
    Json best = found.at("plans").front();
    best["rank"] = nullptr;
    CHECK(why.at("plan").dump() == best.dump());
    CHECK_FALSE(why.at("sentence").get<std::string>().empty());
    if (best.at("time").is_null()) {
      CHECK(why.at("time").empty());
      CHECK(why.at("deciding").is_null());
      CHECK(why.at("sentence").get<std::string>().find(best.at("reasons").front().get<std::string>()) != std::string::npos);
    } else {
      CHECK(why.at("time").size() == 10);
      CHECK(why.at("memory").size() == 8);
    }
  }
  const Json best = written(run_command(with("explain", plan, {"--why-not", "best"}))).at("why_not");
  Json first = written(run_command({"recommend", "--model", "vgg16", "--machine", "abci", "--gpus", "64"})).at("best");
  first["rank"] = nullptr;
  CHECK(best.at("plan").dump() == first.dump());
}

TEST_CASE("swapping two compared plans inverts the signs of the terms") {
  const auto against = [](const Arguments& strategy, const char* other) {
    return written(run_command(with("explain", strategy, {"--model", "vgg16", "--global-batch", "512", "--against", other})))
        .at("against");
  };
  const Json forth = against({"--strategy", "data+spatial", "--degrees", "data=8,spatial=2x2"}, "data=8,filter=4");
  const Json back = against({"--strategy", "data+filter", "--degrees", "data=8,filter=4"}, "data=8,spatial=2x2");
  for (const char* kind : {"time", "memory"}) {
    const std::string unit = std::string("difference_") + (std::string(kind) == "time" ? "s" : "bytes");
    REQUIRE(forth.at(kind).size() == back.at(kind).size());
    for (std::size_t i = 0; i < forth.at(kind).size(); ++i) {
      CHECK(forth.at(kind)[i].at("term") == back.at(kind)[i].at("term"));
      CHECK(forth.at(kind)[i].at(unit).get<double>() == -back.at(kind)[i].at(unit).get<double>());
    }
  }
  CHECK(forth.at("deciding").at("term") == back.at("deciding").at("term"));
  CHECK(forth.at("exchanges").size() == back.at("exchanges").size());
}

TEST_CASE("each study of a comparison has the best plan that recommend finds for it alone") {
  const Json report = written(
      run_command({"recommend", "--gpus", "16", "--model", "resnet50,cosmoflow-128", "--machine", "abci,nowhere,dgx-a100"}));
  const Json& comparison = report.at("comparison");
  REQUIRE(comparison.size() == 6);
  int ranked = 0;
  for (const Json& one : comparison) {
    INFO(one.dump());
    if (one.at("machine") == "nowhere") {
      CHECK(one.at("best").is_null());
      CHECK(one.at("rank").is_null());
      CHECK(one.at("problem").get<std::string>().find("nowhere") != std::string::npos);
      continue;
    }
    ++ranked;
    const Json alone = written(run_command({"recommend", "--gpus", "16", "--model", one.at("model").get<std::string>(),
                                            "--machine", one.at("machine").get<std::string>()}));
    CHECK(one.at("best").dump() == alone.at("best").dump());
    CHECK(one.at("problem").is_null());
    const double step_time = one.at("best").at("time").at("iteration_s").get<double>();
    // The file of cosmoflow-128 gives the usual number of samples.
    const int each = one.at("model") == "resnet50" ? 32 : 1;
    CHECK(one.at("samples_per_s").get<double>() == Approx(16 * each / step_time));
    CHECK(one.at("epochs_per_day").get<double>() == Approx(86400 / one.at("best").at("time").at("epoch_s").get<double>()));
  }
  CHECK(ranked == 4);
  const Report same = run_command({"recommend", "--gpus", "16", "--machine", "abci,dgx-a100"});
  const CsvTable table = CsvTable::parse(csv_of(same.rows()), "comparison.csv");
  CHECK(table.rows() == 2);
}

TEST_CASE("a comparison fits if one of its studies fits, and has no answer if no study has one") {
  CHECK(run_command({"recommend", "--gpus", "4", "--model", "gpt3-175b,resnet50"}).status == ExitStatus::ok);
  CHECK(run_command({"recommend", "--gpus", "4", "--model", "gpt3-175b", "--machine", "dgx-a100,abci"}).status ==
        ExitStatus::nothing_fits);
  CHECK_THROWS_AS(run_command({"recommend", "--gpus", "4", "--machine", "nowhere,neither"}), Error);
}

}  // namespace explain_json_tests
