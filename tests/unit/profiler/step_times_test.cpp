#include "profiler/importers/step_times.hpp"

#include <string>

#include "profiler/measurement/sequence.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

using namespace ddl;

namespace {

const Model stepped_model =
    model_of("{features: 4}", "  - fully_connected: {features: 4, bias: no}\n  - activation: relu\n");

/// Returns the output of step_time.py with `piece` replaced by `by`.
std::string result(const std::string& piece = {}, const std::string& by = {}) {
  std::string text = R"({
  "schema": 1,
  "model": ")" + stepped_model.name +
                     R"(",
  "batch": 4,
  "precision": "fp32",
  "optimizer": "momentum",
  "device": "a processor",
  "torch": "1.13.1",
  "threads": 1,
  "keeps_memory": false,
  "channels_last": false,
  "cudnn_benchmark": false,
  "parameters": 16,
  "steps": 6,
  "step": {"samples_s": [6, 6, 6, 6, 6, 6], "median_s": 6},
  "forward": {"samples_s": [1, 1, 1.5, 1.5, 2, 2], "median_s": 1.5},
  "backward": {"samples_s": [3, 3, 3, 3, 3, 3], "median_s": 3},
  "update": {"samples_s": [2, 2, 2, 2, 2, 2], "median_s": 2}
}
)";
  if (const std::size_t place = text.find(piece); !piece.empty() && place != std::string::npos) {
    text.replace(place, piece.size(), by);
  }
  return text;
}
ProfileImport imported_steps(const std::string& text, const ProfileImportOptions& options = {}) {
  return import_step_times(text, "steps.json", stepped_model, options);
}
std::string import_error(const std::string& text, const ProfileImportOptions& options = {}) {
  return error_of([&] { static_cast<void>(imported_steps(text, options)); });
}

}  // namespace

TEST_CASE("imported steps become a row for each part, with the framework") {
  const ProfileImport import = imported_steps(result());
  CHECK(import.samples == 4);
  CHECK(import.profile.head.backend == "pytorch");
  CHECK(import.profile.head.device == "a processor");
  REQUIRE(import.profile.rows.size() == 3);
  const Measurement& forward = import.profile.rows[0].measurement;
  CHECK(forward.problem == "sequence model=" + stepped_model.name +
                               " samples=4 precision=fp32 optimizer=momentum pass=forward by=pytorch-1.13.1");
  CHECK(forward.samples.count == 6);
  CHECK(forward.samples.median.value() == 1.5);
  CHECK(forward.samples.seconds == std::vector<double>{1, 1, 1.5, 1.5, 2, 2});
  CHECK(import.profile.rows[1].measurement.samples.median.value() == 3);
  CHECK(import.profile.rows[2].measurement.samples.median.value() == 2);
  const ProfileImport kept = imported_steps(result("\"keeps_memory\": false", "\"keeps_memory\": true"), {.device = "mine"});
  CHECK(kept.profile.head.device == "mine");
  for (const ProfileRow& row : kept.profile.rows) {
    CHECK(parse_sequence_problem(row.measurement.problem, "x").keeps_memory);
  }
}

TEST_CASE("steps captured in graphs do not count as eager steps") {
  const std::string key = "\"keeps_memory\": false";
  const auto problem = [&](const std::string& more) {
    return parse_sequence_problem(imported_steps(result(key, key + more)).profile.rows[0].measurement.problem, "x");
  };
  CHECK_FALSE(problem("").graph);
  CHECK_FALSE(problem(", \"graph\": false").graph);
  CHECK(problem(", \"graph\": true, \"sparse_tables\": false").graph);
  CHECK_THAT(import_error(result(key, key + ", \"graph\": 1")), ContainsSubstring("'graph' is neither true nor false"));
  CHECK_THAT(import_error(result(key, key + ", \"sparse_tables\": true")),
             ContainsSubstring("had sparse gradients of embeddings") && ContainsSubstring("leave --sparse-tables out"));
}

TEST_CASE("reading the written profile of imported steps returns the same profile") {
  const Profile profile = imported_steps(result()).profile;
  const std::string text = print_profile(profile);
  CHECK(print_profile(parse_profile(text, "p")) == text);
}

TEST_CASE("files of step times are distinguished from traces") {
  CHECK(is_step_times(result()));
  CHECK_FALSE(is_step_times(R"({"traceEvents": [{"name": "step"}]})"));
  CHECK_FALSE(is_step_times(R"([{"name": "step"}])"));
  CHECK_FALSE(is_step_times(R"({"a": 1})"));
  CHECK_FALSE(is_step_times(""));
}

TEST_CASE("errors in step times state their position") {
  CHECK_THAT(import_error("{"), ContainsSubstring("steps.json:1:") && ContainsSubstring("step_time.py"));
  CHECK_THAT(import_error("[]"), ContainsSubstring("steps.json:1:1: the file has no step times"));
  CHECK_THAT(import_error(result("\"schema\": 1", "\"schema\": 2")),
             ContainsSubstring("steps.json:2:13: written by another version"));
  CHECK_THAT(import_error(result("\"schema\": 1,", "")), ContainsSubstring("the file has no 'schema'"));
  CHECK_THAT(import_error(result("\"batch\": 4", "\"batch\": 0")),
             ContainsSubstring("steps.json:4:12: 'batch' is not a count"));
  CHECK_THAT(import_error(result("\"batch\": 4", "\"batch\": 1e300")),
             ContainsSubstring("steps.json:4:12: 'batch' is not a count"));
  CHECK_THAT(import_error(result("fp32", "fp31")), ContainsSubstring("steps.json:5:16: unknown precision 'fp31'"));
  CHECK_THAT(import_error(result("momentum", "rmsprop")), ContainsSubstring("steps.json:6:16: unknown optimizer 'rmsprop'"));
  CHECK_THAT(import_error(result("\"1.13.1\"", "113")), ContainsSubstring("steps.json:8:12: 'torch' is not text"));
  CHECK_THAT(import_error(result("\"keeps_memory\": false", "\"keeps_memory\": 0")),
             ContainsSubstring("neither true nor false"));
  CHECK_THAT(import_error(result("[3, 3, 3, 3, 3, 3]", "[3, -3]")),
             ContainsSubstring("steps.json:17:") && ContainsSubstring("-3 is not a time"));
  CHECK_THAT(import_error(result("[3, 3, 3, 3, 3, 3]", "[]")), ContainsSubstring("no list of times"));
  CHECK_THAT(import_error(result("[3, 3, 3, 3, 3, 3]", "[\"3\"]")), ContainsSubstring("\"3\" is not a time"));
  CHECK_THAT(import_error(result("{\"samples_s\": [3, 3, 3, 3, 3, 3], \"median_s\": 3}", "3")),
             ContainsSubstring("'backward' has no 'samples_s'"));
  CHECK_THAT(import_error(result("\"parameters\": 16", "\"parameters\": 17")), ContainsSubstring("has 16 parameters"));
  CHECK_THAT(import_error(result('"' + stepped_model.name + '"', "\"vgg16\"")),
             ContainsSubstring("steps.json:3:12: these are steps of 'vgg16'") && ContainsSubstring("--model vgg16"));
}

TEST_CASE("options must match the imported steps") {
  CHECK(imported_steps(result(), {.samples = 4, .precision = Precision::fp32, .optimizer = Optimizer::momentum}).samples ==
        4);
  CHECK_THAT(import_error(result(), {.samples = 8}), ContainsSubstring("steps.json:4:12: these steps ran on 4 samples"));
  CHECK_THAT(import_error(result(), {.precision = Precision::bf16}), ContainsSubstring("these steps ran with fp32"));
  CHECK_THAT(import_error(result(), {.optimizer = Optimizer::adam}), ContainsSubstring("these steps ran with momentum"));
}
