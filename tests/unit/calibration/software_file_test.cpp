#include "calibration/inputs/software_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "calibration/inputs/setting_values.hpp"
#include "calibration/inputs/study.hpp"
#include "calibration/runs/runs.hpp"
#include "calibration/runs/validation.hpp"
#include "core/error.hpp"
#include "estimator/layers/host_launches.hpp"
#include "estimator/search/search.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace software_file_tests {

// The tests read files of software (docs/software.md), and check their effect in a study.

using namespace ddl;

namespace {

const std::string small_software =
    "format: 1\nsoftware: mine\ndescription: d\nsources: {log: a log}\n"
    "launch_overhead: {value: 30 us, source: log}\noverlaps_gradients: {value: no, source: log}\n";

StudySpec spec_with(const std::string& software) {
  StudySpec spec;
  spec.machine = "dgx-h100";
  spec.coefficients = "none";
  spec.precision = Precision::fp16;
  spec.software = software;
  return spec;
}

}  // namespace

TEST_CASE("every bundled software file can be read, and has the source of each fact") {
  const auto names = software_names();
  CHECK(names.size() >= 10);
  for (const std::string& name : names) {
    INFO(name);
    const SoftwareFile software = load_software(name);
    CHECK(software.name == name);
    CHECK_FALSE(software.description.empty());
    CHECK_FALSE(software.lines.empty());
    for (const SoftwareFile::Line& line : software.lines) CHECK(line.source.size() > 20);
    CHECK(software.settings.find("launch_overhead") != nullptr);
  }
}

TEST_CASE("a variant names a bundled framework, and does not pass the name on to files that extend it") {
  const auto names = software_names();
  for (const std::string& name : names) {
    const std::string framework = load_software(name).framework;
    INFO(name << ": " << framework);
    if (framework.empty()) continue;
    CHECK(framework != name);
    REQUIRE(std::find(names.begin(), names.end(), framework) != names.end());
    CHECK(load_software(framework).framework.empty());
  }
  CHECK(load_software("fsdp").framework == "pytorch");
  CHECK(parse_software("format: 1\nsoftware: mine\ndescription: d\nextends: fsdp\n", "m.yaml").framework.empty());
}

TEST_CASE("a software file sets only its own values") {
  const SoftwareFile software = parse_software(small_software, "s.yaml");
  CHECK(software.settings.number("launch_overhead") == 30e-6);
  CHECK(software.settings.flag("overlaps_gradients") == false);
  CHECK(software.settings.find("equal_stages") == nullptr);
  CHECK(software.settings.find("memory_format") == nullptr);
  CHECK(software.lines.size() == 2);
}

TEST_CASE("values that a software file does not set come from the file that it extends") {
  const SoftwareFile base = load_software("megatron-core");
  const SoftwareFile software = parse_software(
      "format: 1\nsoftware: mine\ndescription: d\nextends: megatron-core\nsources: {log: a log}\n"
      "overlaps_tensor_exchanges: {value: no, source: log}\n",
      "s.yaml");
  CHECK(base.settings.flag("overlaps_tensor_exchanges") == true);
  CHECK(software.settings.flag("overlaps_tensor_exchanges") == false);
  CHECK(software.settings.flag("overlaps_gradients") == base.settings.flag("overlaps_gradients"));
  CHECK(software.settings.number("launch_overhead") == base.settings.number("launch_overhead"));
  CHECK(software.settings.choice<MixedPrecision>("mixed_precision") == MixedPrecision::full_gradients);
  CHECK(software.name == "mine");
}

TEST_CASE("norms with half-precision weights use PyTorch's kernels, except if compiled") {
  for (const char* eager : {"pytorch", "fsdp"}) CHECK(load_software(eager).settings.flag("own_half_norms") == true);
  for (const char* compiled : {"pytorch-compiled", "torchtitan"})
    CHECK(load_software(compiled).settings.flag("own_half_norms") == false);
  CHECK_FALSE(load_software("tensorflow").settings.flag("own_half_norms"));
  const auto sums = [](const char* software) { return load_software(software).settings.choice<NormSums>("norm_sums"); };
  // PyTorch since 2.8 (pytorch/pytorch#150773).
  for (const char* each : {"pytorch", "fsdp", "pytorch-compiled", "torchtitan", "paddlenlp"})
    CHECK(sums(each) == NormSums::device);
}

TEST_CASE("TensorFlow transposes volumes in channels-last order, but not in channels-first order") {
  CHECK(load_software("tensorflow").settings.flag("copies_volumes") == true);
  for (const char* other : {"tensorflow-xla", "oneflow", "paddlepaddle"})
    CHECK(load_software(other).settings.flag("copies_volumes") == false);
  StudySpec spec = spec_with("tensorflow");
  CHECK(Study(spec).assumptions().copies_volumes);
  spec.settings = parse_settings("memory_format=nchw", SettingOrigin::option);
  CHECK_FALSE(Study(spec).assumptions().copies_volumes);
}

TEST_CASE("Megatron's step reads gradients again, and unscales them in fp16") {
  CHECK(load_software("megatron").settings.number("extra_update_bytes") == 30.0);
  CHECK(load_software("megatron-core").settings.number("extra_update_bytes") == 22.0);
  CHECK(load_software("megatron").settings.choice<Fusing>("fusing") == Fusing::residuals);
  CHECK(load_software("pytorch").settings.find("extra_update_bytes") == nullptr);
  CHECK(error_of([] {
          (void)parse_software(small_software + "extra_update_bytes: {value: 30, source: log}\n", "s.yaml");
        }).find("s.yaml:7:") == 0);
}

TEST_CASE("a setting is also read under its former key") {
  for (const SettingRow& row : setting_rows()) {
    if (row.former.empty()) continue;
    CAPTURE(row.key);
    CHECK(find_setting(row.former) == &row);
    if (!row.by_software || small_software.find(row.key) != std::string::npos) continue;
    const std::string value = row.kind == SettingKind::bytes ? "30 B" : row.kind == SettingKind::duration ? "2 us" : "0.5";
    const auto with = [&](std::string_view key) {
      return parse_software(small_software + std::string(key) + ": {value: " + value + ", source: log}\n", "s.yaml")
          .settings;
    };
    CHECK(with(row.former) == with(row.key));
  }
}

TEST_CASE("the host waits for the token counts of experts in Megatron Core and frameworks based on it") {
  CHECK(load_software("megatron-core").settings.number("expert_launches") == 0.64);
  CHECK(load_software("nemo").settings.number("expert_launches") == 0.64);
  CHECK(load_software("megatron").settings.find("expert_launches") == nullptr);
}

TEST_CASE("settings of a run or an option override only the same settings of the software") {
  StudySpec spec = spec_with("nemo");
  spec.model = "mixtral-8x7b";
  CHECK(Study(spec).coefficients().software.routes_tokens_once == true);
  spec.settings = parse_settings("routes_tokens_once=no overlaps_expert_exchanges=yes", SettingOrigin::run);
  const Study changed(spec);
  CHECK(changed.coefficients().software.routes_tokens_once == false);
  CHECK(changed.coefficients().software.overlaps_expert_exchanges == true);
  CHECK(changed.coefficients().software.equal_stages == true);
}

TEST_CASE("a run's launch overhead applies to a host of speed 1, and an option's launch overhead to the machine's host") {
  StudySpec spec = spec_with("pytorch");
  spec.settings = parse_settings("launch_overhead=1.5 us", SettingOrigin::run);
  const Study of_run(spec);
  CHECK(launch_overhead(of_run.job()).value() == Approx(1.5e-6 / of_run.machine().device.host_speed));
  spec.settings = parse_settings("launch_overhead=1.5 us", SettingOrigin::option);
  CHECK(launch_overhead(Study(spec).job()).value() == Approx(1.5e-6));
}

TEST_CASE("files of software that extend each other in a circle are refused") {
  const auto folder = std::filesystem::temp_directory_path() / "ddl_software_file_test";
  std::filesystem::create_directories(folder);
  for (const auto& [name, other] : {std::pair("a", "b"), std::pair("b", "a")}) {
    std::ofstream(folder / (std::string(name) + ".yaml"))
        << "format: 1\nsoftware: " << name << "\ndescription: d\nextends: ./" << other << ".yaml\n";
  }
  const std::string error = error_of([&] { (void)load_software((folder / "a.yaml").string()); });
  CHECK(error.find("extend each other in a circle") != std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST_CASE("errors in a software file state their position") {
  const auto error_with = [](const std::string& line) {
    return error_of([&] { (void)parse_software(small_software + line, "s.yaml"); });
  };
  CHECK(error_with("memory_fromat: {value: nchw, source: log}\n").find("s.yaml:7:1: unknown key 'memory_fromat'") == 0);
  CHECK(error_with("memory_format: {value: ncwh, source: log}\n").find("'ncwh' is not a valid memory_format") !=
        std::string::npos);
  CHECK(error_with("rank_waiting: {value: -1, source: log}\n").find("s.yaml:7:") == 0);
  CHECK(error_with("gradient_route: {value: host, source: log}\n").find("unknown key 'gradient_route'") !=
        std::string::npos);
  CHECK(error_with("framework: pytroch\n").find("s.yaml:7:12: unknown framework 'pytroch'") == 0);
  CHECK(error_of([] { (void)load_software("pytroch"); }).find("unknown software 'pytroch'") == 0);
}

TEST_CASE("a study takes PyTorch by default, and no software on request") {
  CHECK(Study(spec_with("")).software().name == usual_software);
  CHECK(Study(spec_with("")).assumptions().memory_format == MemoryFormat::channels_first);
  const Study none(spec_with("none"));
  CHECK(none.software().name.empty());
  CHECK_FALSE(none.machine().device.launch_overhead);
  CHECK(none.assumptions().memory_format == MemoryFormat::channels_last);
}

TEST_CASE("options override the software") {
  StudySpec spec = spec_with("megatron");
  CHECK(Study(spec).assumptions().mixed_precision == MixedPrecision::full_gradients);
  spec.settings = parse_settings("mixed_precision=half", SettingOrigin::option);
  CHECK(Study(spec).assumptions().mixed_precision == MixedPrecision::half_gradients);
  StudySpec images = spec_with("pytorch");
  images.settings = parse_settings("memory_format=nhwc", SettingOrigin::option);
  CHECK(Study(images).assumptions().memory_format == MemoryFormat::channels_last);
}

TEST_CASE("a software may keep images in another order in fp32") {
  StudySpec spec = spec_with("mxnet");
  CHECK(Study(spec).assumptions().memory_format == MemoryFormat::channels_last);
  spec.precision = Precision::tf32;
  CHECK(Study(spec).assumptions().memory_format == MemoryFormat::channels_first);
}

TEST_CASE("a search chooses among the plans that the software can run, which an extending file may change") {
  const auto admits = [](const SoftwareFile& file, PlanChoice choice) { return file.admits[choice]; };
  const SoftwareFile chainer = load_software("chainer");
  CHECK(admits(chainer, PlanChoice::zero) == std::vector<int>{0});
  CHECK(admits(chainer, PlanChoice::shard_group) == std::vector<int>{0});
  CHECK(admits(chainer, PlanChoice::schedule) == std::vector<int>{static_cast<int>(Schedule::gpipe)});
  CHECK_FALSE(admits(chainer, PlanChoice::recompute));
  CHECK(admits(load_software("torchtitan"), PlanChoice::recompute_blocks) == std::vector<int>{0});
  CHECK(admits(load_software("torchtitan"), PlanChoice::secondary_shards) == std::vector<int>{0});
  CHECK_FALSE(admits(load_software("deepspeed"), PlanChoice::secondary_shards));
  const std::string own = "format: 1\nsoftware: own\ndescription: mine\nextends: chainer\nsources: {x: our own}\n";
  const SoftwareFile other =
      parse_software(own + "zero_stages: {value: 0 2, source: x}\nshard_groups: {value: yes, source: x}\n", "own.yaml");
  CHECK(admits(other, PlanChoice::zero) == std::vector<int>{0, 2});
  CHECK_FALSE(admits(other, PlanChoice::shard_group));
  CHECK(admits(other, PlanChoice::schedule) == admits(chainer, PlanChoice::schedule));
  CHECK_THROWS_AS(parse_software(own + "zero_stages: {value: 0 7, source: x}\n", "own.yaml"), Error);
  CHECK_THROWS_AS(parse_software(own + "schedules: {value: '', source: x}\n", "own.yaml"), Error);

  // A plan of Chainer is not sharded, unless the user requests sharding.
  StudySpec spec;
  spec.machine = "abci";
  const Study study(spec);
  SearchOptions options;
  options.devices = 64;
  options.global_batch = 2048;
  options.optimizer = study.optimizer();
  options.admitted = study.software().admits;
  for (const Estimate& each : search(Estimator(study.job()), options).best) {
    CHECK(each.plan.zero_stage == 0);
    CHECK(each.plan.shard_group == 0);
  }
  options.chosen[PlanChoice::zero] = 3;
  options.families = {{family_bit(Axis::data)}};
  CHECK(search(Estimator(study.job()), options).best.front().plan.zero_stage == 3);
}

TEST_CASE("a search has no pipelines if the software has none, unless the user requests a pipeline") {
  CHECK(load_software("pytorch").admits.pipelines);
  CHECK_FALSE(load_software("fsdp").admits.pipelines);
  CHECK_FALSE(load_software("llm-foundry").admits.pipelines);
  CHECK(load_software("torchtitan").admits.pipelines);
  CHECK(load_software("automodel").admits.pipelines);
  StudySpec spec = spec_with("fsdp");
  spec.model = "gpt2";
  const Study study(spec);
  SearchOptions options;
  options.devices = 16;
  options.global_batch = 64;
  options.optimizer = study.optimizer();
  options.precision = study.precision();
  const auto stages = [&] {
    const SearchResult result = search(Estimator(study.job()), options);
    int most = 1;
    for (const Estimate& each : result.best) most = std::max(most, each.plan.mesh[Axis::pipeline]);
    for (const Estimate& each : result.rejected) most = std::max(most, each.plan.mesh[Axis::pipeline]);
    return most;
  };
  CHECK(stages() > 1);
  options.admitted = study.software().admits;
  CHECK(stages() == 1);
  options.families = {{family_bit(Axis::pipeline)}};
  CHECK(stages() == 16);
}

TEST_CASE("a faster host launches kernels faster") {
  const Study study(spec_with("pytorch"));
  const double speed = study.machine().device.host_speed;
  CHECK(speed > 1);
  CHECK(study.machine().device.launch_overhead->value() ==
        Approx(load_software("pytorch").settings.number("launch_overhead").value() / speed));
}

TEST_CASE("coefficients fitted to runs of another software are not used for the requested software") {
  StudySpec spec;
  spec.machine = "abci";
  const Study measured(spec);
  CHECK(measured.software().name == "chainer");
  CHECK(measured.coefficients().software.name.starts_with("Chainer 7"));
  CHECK(measured.coefficients().software.gradient_route == Route::host);
  CHECK(measured.warnings().empty());
  spec.software = "pytorch";
  const Study other(spec);
  CHECK(other.coefficients().software.gradient_route == Route::direct);
  CHECK(other.coefficients().software.name == "pytorch");
  REQUIRE(other.warnings().size() == 1);
  CHECK(other.warnings().front().find("Chainer") != std::string::npos);
}

TEST_CASE(
    "software of images alone is no default for models of sequences, and factors fitted to runs of another one are "
    "ignored") {
  StudySpec spec;
  spec.machine = "abci";
  const auto has = [](const Study& study, Family family) {
    const auto& learned = study.coefficients().learned;
    return std::any_of(learned.begin(), learned.end(), [&](const auto& of) { return of.first == family; });
  };
  constexpr Family data = family_bit(Axis::data);
  const Study images(spec);
  CHECK(images.software().name == "chainer");
  CHECK(has(images, data));
  spec.model = "bert-base";
  const Study sequences(spec);
  CHECK(sequences.software().name == usual_software);
  CHECK(sequences.coefficients().learned.empty());
  CHECK(sequences.warnings().empty());
  spec.software = "chainer";
  CHECK(has(Study(spec), data));
}

}  // namespace software_file_tests
