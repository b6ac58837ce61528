#include "calibration/inputs/software_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "calibration/inputs/study.hpp"
#include "calibration/runs/runs.hpp"
#include "calibration/runs/validation.hpp"
#include "core/error.hpp"
#include "estimator/search/search.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

// Files of software (docs/software.md), and their effect in a study.

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

TEST_CASE("every bundled software file can be read, and says where each fact comes from") {
  const auto names = software_names();
  CHECK(names.size() >= 10);
  for (const std::string& name : names) {
    INFO(name);
    const SoftwareFile software = load_software(name);
    CHECK(software.name == name);
    CHECK_FALSE(software.description.empty());
    CHECK_FALSE(software.lines.empty());
    for (const SoftwareFile::Line& line : software.lines) CHECK(line.source.size() > 20);
    CHECK(software.launch_overhead);
  }
}

TEST_CASE("a software file says what it says, and no more") {
  const SoftwareFile software = parse_software(small_software, "s.yaml");
  CHECK(software.launch_overhead == Seconds(30e-6));
  CHECK(software.facts.overlaps_gradients == false);
  CHECK_FALSE(software.facts.equal_stages);
  CHECK_FALSE(software.memory_format);
  CHECK(software.lines.size() == 2);
}

TEST_CASE("what a software file extends holds where it says nothing") {
  const SoftwareFile base = load_software("megatron-core");
  const SoftwareFile software = parse_software(
      "format: 1\nsoftware: mine\ndescription: d\nextends: megatron-core\nsources: {log: a log}\n"
      "overlaps_tensor_exchanges: {value: no, source: log}\n",
      "s.yaml");
  CHECK(base.facts.overlaps_tensor_exchanges == true);
  CHECK(software.facts.overlaps_tensor_exchanges == false);
  CHECK(software.facts.overlaps_gradients == base.facts.overlaps_gradients);
  CHECK(software.launch_overhead == base.launch_overhead);
  CHECK(software.mixed_precision == MixedPrecision::full_gradients);
  CHECK(software.name == "mine");
}

TEST_CASE("norms with weights in half precision are PyTorch's own, but where they are compiled") {
  for (const char* eager : {"pytorch", "fsdp", "pytorch-graphs"}) CHECK(load_software(eager).own_half_norms == true);
  for (const char* compiled : {"pytorch-compiled", "torchtitan"}) CHECK(load_software(compiled).own_half_norms == false);
  CHECK_FALSE(load_software("tensorflow").own_half_norms);
}

TEST_CASE("TensorFlow turns volumes that lie in channels-last order, not those whose channels are said to come first") {
  CHECK(load_software("tensorflow").copies_volumes == true);
  for (const char* other : {"tensorflow-xla", "oneflow", "paddlepaddle"})
    CHECK(load_software(other).copies_volumes == false);
  StudySpec spec = spec_with("tensorflow");
  CHECK(Study(spec).assumptions().copies_volumes);
  spec.memory_format = MemoryFormat::channels_first;
  CHECK_FALSE(Study(spec).assumptions().copies_volumes);
}

TEST_CASE("Megatron's step passes over gradients again, and unscales them where they are fp16's") {
  CHECK(load_software("megatron").beside_update == 30.0);
  CHECK(load_software("megatron-core").beside_update == 22.0);
  CHECK(load_software("megatron").fusing == Fusing::residuals);
  CHECK_FALSE(load_software("pytorch").beside_update);
  CHECK(error_of([] {
          (void)parse_software(small_software + "beside_update: {value: 30, source: log}\n", "s.yaml");
        }).find("s.yaml:7:") == 0);
}

TEST_CASE("the recipes that hide All-to-alls of experts are NeMo but for that") {
  const SoftwareFile base = load_software("nemo"), hiding = load_software("nemo-ep-overlap");
  CHECK_FALSE(base.facts.overlaps_expert_exchanges);
  CHECK(hiding.facts.overlaps_expert_exchanges == true);
  CHECK(hiding.facts.routes_tokens_once == base.facts.routes_tokens_once);
  CHECK(hiding.launch_overhead == base.launch_overhead);
}

TEST_CASE("the recipes that leave tokens to the All-to-all dispatcher are NeMo but for that") {
  const SoftwareFile base = load_software("nemo"), plain = load_software("nemo-alltoall");
  CHECK(base.facts.routes_tokens_once == true);
  CHECK(plain.facts.routes_tokens_once == false);
  CHECK_FALSE(plain.facts.overlaps_expert_exchanges);
  CHECK(plain.launch_overhead == base.launch_overhead);
  const SoftwareFile hiding = load_software("nemo-alltoall-overlap");
  CHECK(hiding.facts.routes_tokens_once == false);
  CHECK(hiding.facts.overlaps_expert_exchanges == true);
}

TEST_CASE("the host waits for the numbers of tokens of experts but with a capacity, and in graphs of whole iterations") {
  CHECK(load_software("megatron-core").facts.expert_starts == 0.64);
  CHECK(load_software("nemo").facts.expert_starts == 0.64);
  CHECK_FALSE(load_software("megatron").facts.expert_starts);
  CHECK(load_software("nemo-capacity").facts.expert_starts == 0.0);
  CHECK(load_software("nemo-capacity").facts.routes_tokens_once == false);
  CHECK(load_software("nemo-graph").facts.expert_starts == 0.0);
  CHECK(load_software("nemo-graph").facts.overlaps_expert_exchanges == true);
}

TEST_CASE("a run that does not say how it exchanges contexts exchanges what its software does") {
  const std::string rows =
      "model,strategy,gpus,degrees,global_batch,precision,software,context_exchange,quantity,value\n"
      "llama3-8b,context,8,context=8,4,bf16,megatron-core-serial,,iter_total_s,1\n"
      "llama3-8b,context,8,context=8,4,bf16,megatron-core-serial,ulysses,iter_total_s,1\n"
      "llama3-8b,context,8,context=8,4,bf16,megatron-core-serial,ring,iter_total_s,1\n"
      "llama3-8b,context,8,context=8,4,bf16,megatron-core,,iter_total_s,1\n"
      "llama3-8b,context,8,context=8,4,bf16,megatron-core,ring,iter_total_s,1\n";
  const Validation found = validate(parse_runs(rows, "r.csv"), "dgx-h100", "none");
  REQUIRE(found.cases.size() == 5);
  std::vector<Seconds> times;
  for (const auto& each : found.cases) times.push_back(each.predicted.value());
  CHECK(times[0] == times[1]);
  CHECK(times[0] != times[2]);
  CHECK(times[3] == times[4]);  // which has both, and the ring by default
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

TEST_CASE("slips in a software file are placed") {
  const auto error_with = [](const std::string& line) {
    return error_of([&] { (void)parse_software(small_software + line, "s.yaml"); });
  };
  CHECK(error_with("memory_fromat: {value: nchw, source: log}\n").find("s.yaml:7:1: unknown key 'memory_fromat'") == 0);
  CHECK(error_with("memory_format: {value: ncwh, source: log}\n").find("'ncwh' is no memory_format") != std::string::npos);
  CHECK(error_with("rank_waiting: {value: -1, source: log}\n").find("s.yaml:7:") == 0);
  CHECK(error_with("gradient_route: {value: host, source: log}\n").find("unknown key 'gradient_route'") !=
        std::string::npos);
  CHECK(error_of([] { (void)load_software("pytroch"); }).find("unknown software 'pytroch'") == 0);
}

TEST_CASE("a study takes PyTorch where nobody says what runs it, and none where that is said") {
  CHECK(Study(spec_with("")).software().name == usual_software);
  CHECK(Study(spec_with("")).assumptions().memory_format == MemoryFormat::channels_first);
  const Study none(spec_with("none"));
  CHECK(none.software().name.empty());
  CHECK_FALSE(none.machine().device.launch_overhead);
  CHECK(none.assumptions().memory_format == MemoryFormat::channels_last);
}

TEST_CASE("what is asked for beats what the software does") {
  StudySpec spec = spec_with("megatron");
  CHECK(Study(spec).assumptions().mixed_precision == MixedPrecision::full_gradients);
  spec.mixed_precision = MixedPrecision::half_gradients;
  CHECK(Study(spec).assumptions().mixed_precision == MixedPrecision::half_gradients);
  StudySpec images = spec_with("pytorch");
  images.memory_format = MemoryFormat::channels_last;
  CHECK(Study(images).assumptions().memory_format == MemoryFormat::channels_last);
}

TEST_CASE("a software may keep images in another order in fp32") {
  StudySpec spec = spec_with("mxnet");
  CHECK(Study(spec).assumptions().memory_format == MemoryFormat::channels_last);
  spec.precision = Precision::tf32;
  CHECK(Study(spec).assumptions().memory_format == MemoryFormat::channels_first);
}

TEST_CASE("a search chooses what the software can run, and a file that extends another one may say otherwise") {
  const auto admits = [](const SoftwareFile& file, PlanChoice choice) {
    return file.admits[static_cast<std::size_t>(choice)];
  };
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

  // None of Chainer's plans is sharded, unless requested.
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

TEST_CASE("a faster host starts kernels faster") {
  const Study study(spec_with("pytorch"));
  const double speed = study.machine().device.host_speed;
  CHECK(speed > 1);
  CHECK(study.machine().device.launch_overhead->value() ==
        Approx(load_software("pytorch").launch_overhead->value() / speed));
}

TEST_CASE("coefficients of runs of another software say nothing of the one that is asked for") {
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
    "software of images alone is no default for models of sequences, and what runs of another one taught is left out") {
  StudySpec spec;
  spec.machine = "abci";
  const auto has = [](const Study& study, Family family) {
    const auto& learned = study.coefficients().learned;
    return std::any_of(learned.begin(), learned.end(), [&](const auto& of) { return of.first == family; });
  };
  constexpr Family data = family_bit(Axis::data), tensor = family_bit(Axis::tensor);
  const Study images(spec);
  CHECK(images.software().name == "chainer");
  CHECK(has(images, data));
  CHECK_FALSE(has(images, data | tensor));
  spec.model = "bert-base";
  const Study sequences(spec);
  CHECK(sequences.software().name == usual_software);
  CHECK(sequences.coefficients().learned.empty());
  CHECK(sequences.warnings().empty());
  spec.software = "chainer";
  CHECK(has(Study(spec), data | tensor));
}
