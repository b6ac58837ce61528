#include "calibration/runs/runs.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "estimator/facts/model_facts.hpp"
#include "estimator/search/ties.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/calibration/error_texts.hpp"

namespace runs_tests {

using namespace ddl;

namespace {

const std::string header = "model,strategy,gpus,quantity,value,quality,notes\n";

std::vector<MeasuredRun> parsed(const std::string& text) { return parse_runs(text, "r.csv"); }
std::string error_in(const std::string& text) {
  return error_of([&] { (void)parsed(text); });
}

std::size_t count_where(const std::vector<MeasuredRun>& runs, const std::vector<std::string>& conditions) {
  std::vector<RunFilter> filters;
  for (const std::string& condition : conditions) filters.push_back(parse_where(condition));
  return select_runs(runs, filters).size();
}

}  // namespace

// ---- valid files ----

TEST_CASE("a row becomes a run with its line number") {
  const auto runs =
      parsed(header + "\nResNet50,data,16,iter_total_s,0.2406,A,\"two\nlines\"\n./mine.yaml,data+hmodel,,iter_comp_s,0,,\n");
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].model == "resnet50");
  CHECK(runs[0].strategy == "data");
  CHECK(runs[0].gpus == 16);
  CHECK(runs[0].quantity == "iter_total_s");
  CHECK(runs[0].value == 0.2406);
  CHECK(runs[0].quality == "A");
  CHECK(runs[0].notes == "two\nlines");
  CHECK(runs[0].origin == "r.csv:3");
  CHECK(runs[0].dataset.empty());
  CHECK_FALSE(runs[0].global_batch.has_value());
  CHECK(runs[1].model == "./mine.yaml");
  CHECK(runs[1].strategy == "data+tensor");
  CHECK_FALSE(runs[1].gpus.has_value());
  CHECK(runs[1].origin == "r.csv:5");
}

TEST_CASE("columns may come in any order") {
  const auto runs = parsed(
      "value,quantity,global_batch,gpus,gpus_per_node,batch_per_gpu_or_node,strategy,model\n1.5,epoch_s,256,8,4,32,data,"
      "./mine.yaml\n");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].gpus == 8);
  CHECK(runs[0].gpus_per_node == 4);
  CHECK(runs[0].batch_per_gpu_or_node == 32.0);
  CHECK(runs[0].global_batch == 256.0);
  CHECK(runs[0].value == 1.5);
}

TEST_CASE("a run may state its degrees, micro-batch, precision, recomputation and ZeRO stage") {
  const std::string columns = "model,strategy,gpus,degrees,micro_batch,precision,recompute,zero_stage,quantity,value\n";
  const auto row = [&](const std::string& cells) { return columns + "gpt2@layers=24," + cells + ",iter_total_s,1\n"; };
  const auto runs = parsed(row("data+pipeline+tensor,16,\"tensor=4,data=2,pipeline=2\",8,bf16,full,1"));
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].model == "gpt2@layers=24");
  CHECK(runs[0].degrees == "tensor=4,data=2,pipeline=2");
  CHECK(runs[0].micro_batch == 8);
  CHECK(runs[0].precision == Precision::bf16);
  CHECK(runs[0].chosen[PlanChoice::recompute] == static_cast<int>(Recompute::full));
  CHECK(runs[0].chosen[PlanChoice::zero] == 1);
  CHECK_FALSE(runs[0].chosen[PlanChoice::schedule]);
  CHECK(count_where(runs, {"precision=bf16", "recompute=full", "zero_stage=1", "micro_batch=8"}) == 1);
  CHECK(count_where(runs, {"precision="}) == 0);
  const auto unsaid = parsed(row("data,16,,,,,"));
  CHECK(unsaid[0].degrees.empty());
  CHECK_FALSE(unsaid[0].micro_batch);
  CHECK_FALSE(unsaid[0].precision);
  CHECK(count_where(unsaid, {"precision=", "recompute=", "zero_stage=", "degrees="}) == 1);

  CHECK(error_in(row("data,16,\"data=4,tensor=4\",,,,"))
            .find("'data=4,tensor=4' are degrees of 'data+tensor', but the strategy is 'data'") != std::string::npos);
  // A degree may be 1, and degrees determine the number of devices.
  CHECK(parsed(row("data+tensor,,\"data=4,tensor=1\",,,,"))[0].gpus == 4);
  CHECK(error_in(row("data,16,data=4,,,,")).find("'data=4' are 4 devices, but the run had 16") != std::string::npos);
  CHECK(error_in(row("data,16,data=0,,,,")).find("r.csv:2:") == 0);
  CHECK(error_in(row("data,16,16,,,,")).find("is not of the form strategy=degree") != std::string::npos);
  CHECK(error_in(row("data,16,,0,,,")).find("r.csv:2:") == 0);
  // Layouts of layers.
  CHECK(parsed(row("data,,data=4 from16:tensor=4,,,,"))[0].gpus == 4);
  CHECK(
      error_in(row("data,,data=4 from16:tensor=2,,,,")).find("has 4 devices at its first layers, but 2 from layer 16 on") !=
      std::string::npos);
  CHECK(error_in(row("data,,data=4 from16:fsdp=4,,,,")).find("names a ZeRO stage") != std::string::npos);
  for (const std::string layout :
       {"from16", "from:tensor=4", "from0:tensor=4", "to16:tensor=4", "from16:tensor=4 from16:data=4"})
    CHECK(error_in(row("data,,data=4 " + layout + ",,,,")).find("is not the layout of later layers") != std::string::npos);
  // Tables that are held differently.
  CHECK(parsed(row("data,,data=4 t1:dp t9:cw,,,,"))[0].gpus == 4);
  CHECK(error_in(row("data,,data=4 t9:cw t1:dp,,,,")).find("are not in order") != std::string::npos);
  CHECK(error_in(row("data,16,,,fp15,,")).find("'fp15' is not a valid precision") != std::string::npos);
  CHECK(error_in(row("data,16,,,,some,")).find("'some' is not a valid recompute") != std::string::npos);
  CHECK(error_in(row("data,16,,,,,4")).find("'4' is not a valid stage of ZeRO") != std::string::npos);
}

TEST_CASE("the bundled table of ParaDL's runs is read completely") {
  CHECK(observation_names() == std::vector<std::string>{"known-outcomes", "megatron-a100", "neusight-fp32", "paradl-abci",
                                                        "published-runs", "recommenders", "torchvision-a100",
                                                        "vtrain-a100-cluster", "vtrain-a100-node"});
  const auto runs = load_runs("paradl-abci");
  // The file has a header and 1,023 rows. 15 rows do not state the number of GPUs.
  CHECK(runs.size() == 1023);
  CHECK(std::count_if(runs.begin(), runs.end(), [](const auto& run) { return !run.gpus; }) == 15);
  CHECK(runs.front().model == "resnet152");
  CHECK(runs.front().value == 0.5907);
  CHECK(runs.front().origin == "calibration/observations/paradl-abci.csv:2");
  CHECK(count_where(runs, {"strategy=data+tensor"}) == 22);
  CHECK(count_where(runs, {"model=ResNet50"}) == 363);
  CHECK(count_where(runs, {"quality=A"}) == 337);
  CHECK(count_where(runs, {"quality=A,B"}) == 337 + 245);
}

TEST_CASE("no measured run splits shorter contexts than the search takes for measured") {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::set<std::string> known;
  for (const MeasuredRun& run : load_runs("published-runs")) {
    const std::size_t place = run.degrees.find("context=");
    if (place == std::string::npos || std::stoi(run.degrees.substr(place + 8)) == 1 || !known.insert(run.model).second)
      continue;
    least = std::min(least, facts_of(load_model(run.model)).context_units);
  }
  CHECK(least == least_measured_context);
}

// ---- filters ----

TEST_CASE("a row must match one value of every filter") {
  const auto runs = parsed(header +
                           "resnet50,data,16,epoch_s,1,A,\nresnet50,data,32,epoch_s,2,B,\nvgg16,filter,16,epoch_s,3,A,"
                           "\nvgg16,filter,,epoch_s,4,C,\n");
  CHECK(count_where(runs, {}) == 4);
  CHECK(count_where(runs, {"quality=A"}) == 2);
  CHECK(count_where(runs, {"quality=A,B"}) == 3);
  CHECK(count_where(runs, {"quality=A", "model=vgg16"}) == 1);
  CHECK(count_where(runs, {"quality=B", "model=vgg16"}) == 0);
  CHECK(count_where(runs, {"gpus=16.0"}) == 2);
  CHECK(count_where(runs, {"gpus=16,32"}) == 3);
  CHECK(count_where(runs, {"value=3"}) == 1);
  CHECK(count_where(runs, {"gpus="}) == 1);
  CHECK(count_where(runs, {"notes="}) == 4);
}

TEST_CASE("filters accept models and strategies under all their names") {
  const auto runs = parsed(header + "ResNet50,data,16,epoch_s,1,A,\nMegatronLM-2.5B,data+hmodel,32,epoch_s,2,B,\n");
  CHECK(count_where(runs, {"model=resnet50"}) == 1);
  CHECK(count_where(runs, {"model=ResNet50,megatron-2.5b"}) == 2);
  CHECK(count_where(runs, {"strategy=data+tensor"}) == 1);
  CHECK(count_where(runs, {"strategy=data+hmodel"}) == 1);
}

TEST_CASE("fails with an invalid filter") {
  CHECK(error_of([] { (void)parse_where("quality"); }) ==
        "'quality' is not of the form column=value,value\nhint: use for example quality=A,B");
  CHECK(error_of([] { (void)parse_where("qualty=A"); }) == "unknown column 'qualty'\nhint: did you mean 'quality'?");
  CHECK(first_line(error_of([] { (void)parse_where("=A"); })) == "unknown column ''");
  CHECK(error_of([] { (void)parse_where("gpus=many"); }) == "column 'gpus' has numbers, but 'many' is not a number");
  CHECK(error_of([] { (void)parse_where("gpus=nan"); }) == "column 'gpus' has numbers, but 'nan' is not a number");
}

// ---- invalid files ----

TEST_CASE("fails with a missing or unknown column") {
  CHECK(first_line(error_in("model,strategy,gpus,quantity\nmine,data,1,q\n")) == "r.csv:1:1: the column 'value' is missing");
  CHECK(error_in("model,strategy,gpus,quantity,value,qualty\nmine,data,1,q,1,A\n") ==
        "r.csv:1:36: unknown column 'qualty'\n"
        "  model,strategy,gpus,quantity,value,qualty\n"
        "                                     ^\n"
        "hint: did you mean 'quality'?");
}

TEST_CASE("fails with a row that lacks what a run needs") {
  CHECK(first_line(error_in(header + ",data,1,q,1,,\n")) == "r.csv:2:1: a run needs its model");
  CHECK(first_line(error_in(header + "mine,,1,q,1,,\n")) == "r.csv:2:6: a run needs its strategy");
  CHECK(first_line(error_in(header + "mine,data,1,,1,,\n")) == "r.csv:2:13: a run needs its quantity");
  CHECK(first_line(error_in(header + "mine,data,1,q,,,\n")) == "r.csv:2:15: a run needs its value");
}

TEST_CASE("fails with impossible numbers") {
  CHECK(first_line(error_in(header + "mine,data,0,q,1,,\n")) == "r.csv:2:11: '0' is not a positive whole number");
  CHECK(first_line(error_in(header + "mine,data,1.5,q,1,,\n")) == "r.csv:2:11: '1.5' is not a positive whole number");
  CHECK(first_line(error_in(header + "mine,data,3000000000,q,1,,\n")) == "r.csv:2:11: '3000000000' is too large");
  CHECK(first_line(error_in(header + "mine,data,1,q,fast,,\n")) == "r.csv:2:15: 'fast' is not a finite number");
  CHECK(first_line(error_in(header + "mine,data,1,q,nan,,\n")) == "r.csv:2:15: 'nan' is not a finite number");
  CHECK(first_line(error_in(header + "mine,data,1,q,-1,,\n")) == "r.csv:2:15: '-1' is negative");
  CHECK(first_line(error_in("model,strategy,gpus,quantity,value,global_batch\nmine,data,1,q,1,0\n")) ==
        "r.csv:2:17: '0' must be greater than zero");
  // The error of a prediction is relative to the value, which must not be too small.
  CHECK(first_line(error_in(header + "mine,data,1,q,1e-320,,\n")) == "r.csv:2:15: '1e-320' is too small");
  CHECK(first_line(error_in(header + "mine,data,1,q,1e300,,\n")) == "r.csv:2:15: '1e300' is too large");
  CHECK(first_line(error_in("model,strategy,gpus,quantity,value,global_batch\nmine,data,1,q,1,1e300\n")) ==
        "r.csv:2:17: '1e300' is too large");
}

TEST_CASE("fails with an unknown table and with a missing file") {
  CHECK(first_line(error_of([] { (void)load_runs("paradl"); })) == "unknown table of runs 'paradl'");
  CHECK(error_of([] { (void)load_runs("missing.csv"); }).find("missing.csv") != std::string::npos);
}

}  // namespace runs_tests
