#include "estimator/inputs/settings.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/setting_values.hpp"
#include "calibration/inputs/software_file.hpp"
#include "calibration/inputs/study.hpp"
#include "calibration/runs/runs.hpp"
#include "cli/options/job_file.hpp"
#include "estimator/inputs/training_rows.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/cli/run_command.hpp"

namespace settings_tests {

// The tests set every value of every setting, in every place that may set it.

using namespace ddl;

namespace {

/// Returns all names, both flags, and both ends of a range.
std::vector<double> values_of(const SettingRow& row) {
  if (row.key == "power_limit") return {175, 700};  // a quarter of the limit of H100, and the limit
  switch (row.kind) {
    case SettingKind::flag:
      return {0, 1};
    case SettingKind::name: {
      std::vector<double> places;
      for (std::size_t i = 0; i < row.names.size(); ++i) places.push_back(static_cast<double>(i));
      return places;
    }
    case SettingKind::bytes:
      return {0, 30};
    default:
      return {row.least, row.most};
  }
}

StudySpec small_spec() {
  StudySpec spec;
  spec.model = "bert-base";
  spec.machine = "dgx-h100";
  spec.precision = Precision::bf16;
  return spec;
}

/// Returns whether a setting needs repeated measurements of the network, which this machine does
/// not have. Congestion needs them.
bool needs_measurements(const SettingRow& row) { return row.kind == SettingKind::percentile; }

}  // namespace

/// The setting that another setting belongs to, and its value.
struct Companion {
  std::string key{}, value{};
};
Companion companion_of(const SettingRow& row) {
  if (!row.only_with.empty()) return {std::string(row.only_with_key), std::string(row.only_with)};
  // Local steps have fragments, at most one for each step.
  if (row.key == "local_fragments" || row.key == "local_overlap") return {"local_steps", "1000000"};
  return {};
}

TEST_CASE("every value of every setting is read back as it is printed") {
  for (const SettingRow& row : setting_rows()) {
    for (const double value : values_of(row)) {
      const std::string text = print_setting(row, value);
      INFO(row.key << ": " << text);
      CHECK(parse_setting(row, text, std::string(row.key)) == value);
      CHECK(read_setting(row, YamlNode::parse(fmt::format("a: {}", text), "t").at("a")) == value);
      Settings settings;
      settings.set(row, {value, SettingOrigin::option, {}});
      CHECK(parse_settings(print_settings(settings), SettingOrigin::option) == settings);
    }
  }
}

TEST_CASE("a number may have its unit") {
  const SettingRow& row = *find_setting("power_limit");
  for (const std::string text : {"250", "250W", "250 W"}) CHECK(parse_setting(row, text, "--power-limit") == 250);
  for (const std::string text : {"W", "0.25kW", "250 kg", "-250W", "250WW", "nanW", " W"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_setting(row, text, "--power-limit"), Error);
  }
  CHECK_THROWS_AS(parse_setting(*find_setting("pue"), "1W", "--pue"), Error);
}

TEST_CASE("every setting that software may have is applied from a software file") {
  for (const SettingRow& row : setting_rows()) {
    for (const double value : values_of(row)) {
      const std::string text = fmt::format(
          "format: 1\nsoftware: mine\ndescription: d\nextends: pytorch\nsources: {{log: a log}}\n{}: {{value: {}, source: "
          "log}}\n",
          row.key, print_setting(row, value));
      INFO(text);
      if (!row.by_software) {
        CHECK(error_of([&] { static_cast<void>(parse_software(text, "s.yaml")); }).find("unknown key") != std::string::npos);
        continue;
      }
      const SoftwareFile software = parse_software(text, "s.yaml");
      REQUIRE(software.settings.find(row.key) != nullptr);
      CHECK(*software.settings.find(row.key) == SettingValue{value, SettingOrigin::software, "a log"});
      StudySpec spec = small_spec();
      StudyInputs inputs = load_inputs(spec);
      inputs.software = software;
      CHECK_NOTHROW(Study(spec, std::move(inputs)));
    }
  }
}

TEST_CASE("every setting is applied from a job, a table of runs, an option and a report") {
  for (const SettingRow& row : setting_rows()) {
    for (const double value : values_of(row)) {
      const std::string text = print_setting(row, value);
      INFO(row.key << ": " << text);
      // A setting that belongs to an algorithm is set together with the algorithm.
      const Companion companion = companion_of(row);
      const std::string algorithm = companion.key.empty() ? "" : fmt::format("{}: {}\n", companion.key, companion.value);
      const std::string line =
          row.has_option ? fmt::format("{}: {}\n", row.key, text) : fmt::format("settings: {{{}: {}}}\n", row.key, text);
      // Only some optimizers precondition gradients.
      const std::string optimizer = row.key == "precondition_every" ? "kfac" : "adam";
      const ParsedJob parsed = parse_job(
          "format: 1\nmodel: bert-base\nmachine: dgx-h100\nprecision: bf16\nglobal_batch: 64\noptimizer: " + optimizer +
              "\n" + algorithm + line + "plan: {strategy: data, degrees: {data: 8}}\n",
          "j.yaml");
      CHECK(parsed.job.settings.number(row.key) == value);
      if (!needs_measurements(row)) CHECK_NOTHROW(Study(spec_of(parsed.job, "")));

      const std::string with = companion.key.empty() ? "" : fmt::format(" {}={}", companion.key, companion.value);
      const std::vector<MeasuredRun> runs =
          parse_runs(fmt::format("model,strategy,gpus,quantity,value,settings\nbert-base,data,8,iter_total_s,1,{}={}{}\n",
                                 row.key, text, with),
                     "r.csv");
      CHECK(runs.front().settings.number(row.key) == value);

      if (needs_measurements(row)) continue;
      const std::string words = fmt::format("{}={}{}", row.key, text, with);
      // Only adapters leave weights frozen.
      const std::string model = row.key == "base" ? "bert-base@lora=8" : "bert-base";
      std::vector<std::string> command{"recommend",   model,  "--machine",   "dgx-h100", "--gpus",  "8",
                                       "--strategy",  "data", "--degrees",   "data=8",   "--batch", "8",
                                       "--precision", "bf16", "--optimizer", optimizer};
      // Failures have an effect only on a whole training.
      if (std::find(recovery_keys.begin(), recovery_keys.end(), row.key) != recovery_keys.end())
        command.insert(command.end(), {"--train-tokens", "1B", "--setting", "mtbf=1000000d checkpoint_time=1ms"});
      command.insert(command.end(), {"--setting", words});
      const nlohmann::ordered_json said = run_command(command).json();
      // The report of the answer is explained with the same setting.
      const std::string report = (std::filesystem::temp_directory_path() / "ddl-settings-plan-test.json").string();
      std::ofstream(report) << said;
      const nlohmann::ordered_json explained = run_command({"explain", "--plan", report}).json();
      CHECK(explained["plan"]["time"]["iteration_s"] == said["best"]["time"]["iteration_s"]);
      CHECK(explained["plan"]["memory"] == said["best"]["memory"]);
      std::filesystem::remove(report);
    }
  }
}

TEST_CASE("the setting with the highest precedence is used") {
  Settings settings = parse_settings("memory_format=nchw straggler=1.5", SettingOrigin::software);
  settings.override_by(parse_settings("memory_format=nhwc", SettingOrigin::option));
  CHECK(settings.choice<MemoryFormat>("memory_format") == MemoryFormat::channels_last);
  CHECK(settings.find("memory_format")->origin == SettingOrigin::option);
  CHECK(settings.number("straggler") == 1.5);
}

TEST_CASE("errors in settings are named") {
  const auto error = [](const std::string& text) {
    return error_of([&] { static_cast<void>(parse_settings(text, SettingOrigin::option)); });
  };
  CHECK(error("stragler=1") == "unknown setting 'stragler'\nhint: did you mean 'straggler'?");
  CHECK(error("straggler=nan").find("which is not a number from 1 to 1000") != std::string::npos);
  CHECK(error("fusing=al").find("fusing does not support 'al'") == 0);
  CHECK(error("overlap=maybe").find("neither yes nor no") != std::string::npos);
  CHECK(error("straggler").find("is not a setting") != std::string::npos);
  CHECK(error("launch_overhead=2 h").find("launch_overhead: '2 h' is ") == 0);
  CHECK(error("launch_overhead=fast") == "launch_overhead: 'fast' is not a time\nhint: use for example '20 us'");
  CHECK(error("mtbf=0s") == "mtbf: '0s' must be greater than zero\nhint: use for example '10 min' or '5 years'");
  CHECK(error("mtbf=3y").find("mtbf: '3y' has the unknown unit 'y'\nhint: known: ") == 0);
  CHECK(error("gradient_bucket=-1 MiB") == "gradient_bucket: '-1 MiB' is negative\nhint: use for example '25 MiB'");
  CHECK(error(" ") == "' ' is not a setting\nhint: write key=value, separated by spaces");
}

TEST_CASE("a setting without effect unless another one is set is refused from every source") {
  const auto error = [](const std::string& words) {
    return error_of([&] {
      run_command({"recommend", "bert-base", "--machine", "dgx-h100", "--gpus", "8", "--setting", words});
    });
  };
  CHECK(error("parameter_servers=3").find("--parameter-servers needs --allreduce parameter-server") == 0);
  CHECK(error("input=none input_exposed=yes").find("contradict each other") != std::string::npos);
  CHECK(error_of([] {
          static_cast<void>(parse_runs(
              "model,strategy,gpus,quantity,value,settings\nbert-base,data,8,iter_total_s,1,sparse_density=0.1\n", "r.csv"));
        }).find("sparse_density needs allreduce=sparse") != std::string::npos);
}

}  // namespace settings_tests
