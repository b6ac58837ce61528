#include "calibration/inputs/coefficients_reader.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/measured_models.hpp"
#include "calibration/inputs/split_fit.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/calibration/error_texts.hpp"

namespace coefficients_reader_tests {

using namespace ddl;

namespace {

const std::string small_file = R"(format: 1
name: toy-run
machine: toy
description: a measurement
generator: a person
date: 2026-01-01
sources: {log: the log}
models:
  - {model: mine, precision: fp32, batch: 64, per_sample: 3 ms, source: log}
  - {model: mine, precision: bf16, batch: 64, per_iteration: 640 ms, divided_over: 4, source: log}
filter_split: {unsplit: 100 ms, points: [[2, 75 ms], [4, 62.5 ms]], source: log, operation: convolution, precision: fp32}
channel_undivided: {value: 0.25, source: log}
software:
  name: {value: Toy 1.0, source: log}
  gradient_route: {value: host, source: log}
  overlaps_gradients: {value: no, source: log}
  hybrid_gradient_algorithm: {value: leader, source: log}
  spatial_layers:
    - {model: mine, layers: 2, source: log}
)";

std::string error_with(const std::string& from, const std::string& to) {
  const std::string text = edited(small_file, from, to);
  return error_of([&] { (void)parse_coefficients(text, "c.yaml"); });
}

const MeasuredModel& model_of(const Coefficients& coefficients, const std::string& name) {
  const auto found = std::find_if(coefficients.models.begin(), coefficients.models.end(),
                                  [&](const auto& model) { return model.model == name; });
  INFO(name);
  REQUIRE(found != coefficients.models.end());
  return *found;
}

}  // namespace

// ---- the fit of split layers ----

TEST_CASE("times that follow T(p) = T(1)·(s + (1−s)/p) give the undivided fraction s") {
  // With T(1) = 100 ms and s = 0.5, T(2) = 100 · (0.5 + 0.25) = 75 ms and T(4) = 62.5 ms.
  const std::array points{SplitPoint{2, Seconds(0.075)}, SplitPoint{4, Seconds(0.0625)}};
  CHECK(fit_undivided_fraction(Seconds(0.1), points) == Approx(0.5));
}

TEST_CASE("the undivided fraction is the least-squares slope") {
  // T(p)/T(1) − 1/p = s(1 − 1/p): (1/2, 0.4) and (3/4, 0.45); s = (0.2 + 0.3375) / (0.25 + 0.5625) = 0.6615…
  const std::array points{SplitPoint{2, Seconds(0.9)}, SplitPoint{4, Seconds(0.7)}};
  CHECK(fit_undivided_fraction(Seconds(1.0), points) == Approx(0.5375 / 0.8125));
}

TEST_CASE("the undivided fraction stays within its bounds") {
  const std::array slower{SplitPoint{2, Seconds(1.3)}, SplitPoint{4, Seconds(1.1)}};
  CHECK(fit_undivided_fraction(Seconds(1.0), slower) == 1.0);
  const std::array better_than_linear{SplitPoint{2, Seconds(0.4)}, SplitPoint{4, Seconds(0.2)}};
  CHECK(fit_undivided_fraction(Seconds(1.0), better_than_linear) == 0.0);
}

// ---- valid files ----

TEST_CASE("a coefficients file is read into coefficients") {
  const Coefficients coefficients = parse_coefficients(small_file, "c.yaml");
  CHECK(coefficients.name == "toy-run");
  CHECK(coefficients.machine == "toy");
  REQUIRE(coefficients.models.size() == 2);
  CHECK(coefficients.models[0].model == "mine");
  CHECK(coefficients.models[0].batch == 64);
  CHECK(coefficients.models[0].per_sample.value() == Approx(3e-3));
  CHECK(coefficients.models[0].source == "the log");
  REQUIRE(coefficients.filter_undivided);
  CHECK(coefficients.filter_undivided->fraction == Approx(0.5));
  CHECK(coefficients.filter_undivided->operation == "convolution");
  CHECK(coefficients.filter_undivided->precision == Precision::fp32);
  REQUIRE(coefficients.channel_undivided);
  CHECK(coefficients.channel_undivided->fraction == 0.25);
  CHECK(coefficients.channel_undivided->is_about("fully_connected", Precision::bf16));
  CHECK(coefficients.software.name == "Toy 1.0");
  CHECK(coefficients.software.gradient_route == Route::host);
  CHECK(coefficients.software.overlaps_gradients == false);
  CHECK(coefficients.software.hybrid_gradient_algorithm == AllreduceAlgorithm::leader);
  CHECK(coefficients.software.spatial_layers == std::vector<std::pair<std::string, int>>{{"mine", 2}});
}

TEST_CASE("the time of a step on several devices becomes the time of a sample on one device") {
  // A sample takes 640 ms / 64 samples · 4 devices.
  CHECK(parse_coefficients(small_file, "c.yaml").models[1].per_sample.value() == Approx(40e-3));
}

TEST_CASE("software settings that are missing in the file have their defaults") {
  const Software software = parse_coefficients(small_file, "c.yaml").software;
  CHECK(software.layer_route == Route::direct);
  CHECK_FALSE(software.gradient_algorithm.has_value());
  CHECK_FALSE(software.whole_gradients_in_hybrids);
  const Coefficients without = parse_coefficients(small_file.substr(0, small_file.find("software:")), "c.yaml");
  CHECK(without.software.name.empty());
  CHECK_FALSE(without.software.overlaps_gradients.has_value());
  CHECK_FALSE(without.software.overlaps_weight_gathers);
  CHECK_FALSE(without.software.equal_stages);
}

// ---- the bundled coefficients ----

TEST_CASE("measured machines have bundled coefficients") {
  std::vector<std::string> found;
  for (const std::string& name : machine_names()) {
    INFO(name);
    const auto coefficients = bundled_coefficients(name);
    if (!coefficients) continue;
    found.push_back(name);
    CHECK(coefficients->machine == name);
    CHECK((!coefficients->models.empty() || !coefficients->exchanges.empty()));
    for (const MeasuredCurve& curve : coefficients->exchanges.curves()) CHECK_FALSE(curve.source.empty());
  }
  CHECK(found == std::vector<std::string>{"abci", "alps", "dgx-a100", "dgx-b200", "dgx-h100", "dgx-h200", "polaris"});
}

TEST_CASE("the bundled coefficients are the published ones") {
  const auto coefficients = bundled_coefficients("abci");
  REQUIRE(coefficients.has_value());
  CHECK(model_of(*coefficients, "resnet50").per_sample.value() == Approx(0.003119502));
  CHECK(model_of(*coefficients, "vgg16").per_sample.value() == Approx(0.008245589));
  CHECK(model_of(*coefficients, "vgg16").batch == 32);
  CHECK(model_of(*coefficients, "alexnet").per_sample.value() == Approx(0.000610938));
  CHECK(model_of(*coefficients, "cosmoflow-512").per_sample.value() == Approx(2.108143184));
  CHECK(model_of(*coefficients, "cosmoflow-256").per_sample.value() == Approx(2.108143184 / 8));
  CHECK(model_of(*coefficients, "resnet152").per_sample.value() == Approx(0.476 / 64));
  // All six times are longer than the time without a split.
  REQUIRE(coefficients->filter_undivided);
  CHECK(coefficients->filter_undivided->fraction == 1.0);
  CHECK_FALSE(coefficients->channel_undivided.has_value());
  const Software& software = coefficients->software;
  CHECK(software.gradient_route == Route::host);
  CHECK(software.layer_route == Route::direct);
  CHECK(software.halo_route == Route::host);
  CHECK(software.overlaps_gradients == false);
  CHECK(software.gradient_algorithm == AllreduceAlgorithm::ring);
  CHECK(software.hybrid_gradient_algorithm == AllreduceAlgorithm::leader);
  CHECK(software.layer_algorithm == AllreduceAlgorithm::ring);
  CHECK(software.whole_gradients_in_hybrids);
  CHECK(software.spatial_layers == std::vector<std::pair<std::string, int>>{{"cosmoflow-256", 2}, {"cosmoflow-512", 2}});
}

TEST_CASE("measurements of a network hold for its copies under other names, and not for other networks under its name") {
  const Coefficients bundled = load_coefficients("abci");
  const auto has = [](const Coefficients& coefficients, const std::string& name) {
    return std::any_of(coefficients.models.begin(), coefficients.models.end(),
                       [&](const MeasuredModel& each) { return each.model == name; });
  };
  Model copy = load_model("cosmoflow-512");
  copy.name = "mine";
  CHECK_FALSE(has(bundled, "mine"));
  CHECK(has(measured_as(bundled, copy), "mine"));
  CHECK(measured_as(bundled, copy).software.spatial_layers ==
        std::vector<std::pair<std::string, int>>{{"cosmoflow-256", 2}, {"mine", 2}});
  Model other = load_model("resnet101");
  other.name = "resnet50";
  CHECK_FALSE(is_same_network(load_model("resnet50"), other));
  CHECK_FALSE(has(measured_as(bundled, other), "resnet50"));
  CHECK(has(measured_as(bundled, load_model("resnet50")), "resnet50"));
}

TEST_CASE("the factor of other networks has the spread of the networks' factors, each left out") {
  const Coefficients bundled = load_coefficients("abci");
  const Machine machine = load_machine("abci");
  const Model images = load_model("resnet101"), volumes = load_model("cosmoflow-128");
  const std::optional<KernelScale> of_images = pooled_scale(machine, bundled, Precision::fp32, &images);
  REQUIRE(of_images);
  // Four vision models are measured: the fastest takes half as long as the slowest, relative to its roofline.
  CHECK(of_images->spread > 0.2);
  CHECK(of_images->spread < 0.8);
  // Two sizes of one network of volumes do not show how much networks differ.
  const std::optional<KernelScale> of_volumes = pooled_scale(machine, bundled, Precision::fp32, &volumes);
  REQUIRE(of_volumes);
  CHECK(of_volumes->spread > 0.2);
}

TEST_CASE("bundled coefficients are found by their own name and by the name of their machine") {
  for (const char* name : {"abci", "ABCI", "abci-paradl", "ABCI ParaDL"}) {
    INFO(name);
    CHECK(load_coefficients(name).name == "abci-paradl");
  }
  CHECK(error_of([] { (void)load_coefficients("abc"); }) ==
        "unknown coefficients 'abc'\nhint: known: abci-paradl, abci, alps-network, alps, dgx-a100-network, dgx-a100, "
        "dgx-b200-network, dgx-b200, dgx-h100-network, "
        "dgx-h100, dgx-h200-network, dgx-h200, polaris-network, polaris, none; a file of your own ends in '.yaml'");
}

// ---- invalid files ----

TEST_CASE("fails with a model whose time is given twice, or not at all") {
  CHECK(first_line(error_with("per_sample: 3 ms, ", "")) == "c.yaml:9:5: expected one of 'per_sample' and 'per_iteration'");
  CHECK(first_line(error_with("per_sample: 3 ms", "per_sample: 3 ms, per_iteration: 1 s")) ==
        "c.yaml:9:5: expected one of 'per_sample' and 'per_iteration'");
  CHECK(first_line(error_with("precision: bf16", "precision: fp32")) == "c.yaml:10:5: duplicate time of 'mine' in fp32");
  CHECK(first_line(error_with("bf16, batch: 64", "fp32, batch: 32")) == "c.yaml:10:5: duplicate time of 'mine' in fp32");
}

TEST_CASE("fails with an unknown word, and suggests the nearest one") {
  CHECK(error_with("precision: bf16", "precision: bf61") ==
        "c.yaml:10:30: unknown precision 'bf61'\n"
        "    - {model: mine, precision: bf61, batch: 64, per_iteration: 640 ms, divided_over: 4, source: log}\n"
        "                               ^\n"
        "hint: did you mean 'bf16'?");
  CHECK(first_line(error_with("value: host", "value: guest")) == "c.yaml:15:27: 'guest' is not a valid gradient_route");
  CHECK(error_with("value: leader", "value: leeder").find("hint: did you mean 'leader'?") != std::string::npos);
  CHECK(first_line(error_with("value: leader", "value: leeder")) ==
        "c.yaml:17:38: 'leeder' is not a valid hybrid_gradient_algorithm");
  CHECK(first_line(error_with("value: no", "value: maybe")) == "c.yaml:16:31: 'maybe' is neither yes nor no");
}

TEST_CASE("fails with a number without unit, out of bounds, or without a listed source") {
  CHECK(first_line(error_with("3 ms", "3")) == "c.yaml:9:59: '3' has no unit");
  CHECK(first_line(error_with("3 ms", "-3 ms")) == "c.yaml:9:59: '-3 ms' is negative");
  CHECK(first_line(error_with("batch: 64, per_s", "batch: 0, per_s")) == "c.yaml:9:43: '0' is too small: at least 1");
  CHECK(first_line(error_with("value: 0.25", "value: 1.25")) == "c.yaml:12:28: '1.25' is too large: at most 1");
  CHECK(first_line(error_with("3 ms, source: log", "3 ms, source: lag")) == "c.yaml:9:73: unknown source 'lag'");
  CHECK(error_with("]], source: log", "]], source: lag").find("unknown source 'lag'") != std::string::npos);
  CHECK(error_with("layers: 2, source: log", "layers: 2, source: lag").find("unknown source 'lag'") != std::string::npos);
}

TEST_CASE("fails with an invalid date") {
  for (const char* const date :
       {"2026-02-29", "2026-13-01", "2026-00-10", "2026-01-011e308", "2026-1-1", "today", "2026-01-01T00:00"}) {
    CAPTURE(date);
    CHECK(error_with("date: 2026-01-01", std::string("date: ") + date).find("is not a valid date") != std::string::npos);
  }
  CHECK(error_with("date: 2026-01-01", "date: 2028-02-29") == "no error");
}

TEST_CASE("fails with points that cannot be fitted") {
  CHECK(first_line(error_with("[[2, 75 ms], [4, 62.5 ms]]", "[]")) == "c.yaml:11:41: no points to fit");
  CHECK(first_line(error_with("[2, 75 ms]", "[1, 75 ms]")) == "c.yaml:11:43: '1' is too small: at least 2");
  CHECK(first_line(error_with("[2, 75 ms]", "[2]")) == "c.yaml:11:42: expected parts and time, found 1 items");
  CHECK(first_line(error_with("operation: convolution", "operation: convolutions")) ==
        "c.yaml:11:93: unknown operation 'convolutions'");
  CHECK(first_line(error_with("[2, 75 ms]", "[2, 75]")) == "c.yaml:11:46: '75' has no unit");
  CHECK(first_line(error_with("channel_undivided:", "filter_undivided:")) ==
        "c.yaml:11:15: 'filter_undivided' and 'filter_split' exclude each other");
}

TEST_CASE("overlapped kernels and collectives take no less time than alone") {
  const auto with = [](const std::string& overlap) { return "format: 1\n" + overlap + small_file.substr(10); };
  const Coefficients some = parse_coefficients(with("overlap: {kernels: 1.25, source: log}\n"), "c.yaml");
  CHECK(some.overlap.kernels == 1.25);
  CHECK(some.overlap.exchange == 1);
  CHECK(some.overlap.source == "the log");
  const auto error = [&](const std::string& overlap) {
    return first_line(error_of([&] { (void)parse_coefficients(with(overlap), "c.yaml"); }));
  };
  CHECK(error("overlap: {kernels: 0.9, source: log}\n") == "c.yaml:2:20: must be at least 1");
  CHECK(error("overlap: {exchange: 1e7, source: log}\n") == "c.yaml:2:21: '1e7' is too large: at most 1000000");
  CHECK(error("overlap: {kernel: 2, source: log}\n") == "c.yaml:2:11: unknown key 'kernel'");
  CHECK(error("overlap: {kernels: 2}\n") == "c.yaml:2:10: the key 'source' is missing");
}

TEST_CASE("a file may set the time that the host takes to launch a kernel") {
  const std::string route = "  gradient_route: {value: host, source: log}\n";
  const auto with = [&](const std::string& start) {
    return edited(small_file, route, route + "  launch_overhead: " + start + "\n");
  };
  const auto error = [&](const std::string& start) {
    return first_line(error_of([&] { (void)parse_coefficients(with(start), "c.yaml"); }));
  };
  CHECK_FALSE(parse_coefficients(small_file, "c.yaml").software.launch_overhead);
  CHECK(parse_coefficients(with("{value: 12.5 us, source: log}"), "c.yaml").software.launch_overhead == Seconds(12.5e-6));
  CHECK(error("{value: -1 us, source: log}").find("c.yaml:16:28:") == 0);
  CHECK(error("{value: 12.5, source: log}") == "c.yaml:16:28: '12.5' has no unit");
  CHECK(error("{value: 12.5 us}") == "c.yaml:16:20: the key 'source' is missing");
  // In files of older versions, the launch overhead has the key `kernel_start`.
  const std::string former = edited(small_file, route, route + "  kernel_start: {value: 12.5 us, source: log}\n");
  CHECK(parse_coefficients(former, "c.yaml").software.launch_overhead == Seconds(12.5e-6));
  const std::string both = with("{value: 1 us, source: log}\n  kernel_start: {value: 12.5 us, source: log}");
  CHECK(first_line(error_of([&] { (void)parse_coefficients(both, "c.yaml"); })) ==
        "c.yaml:17:3: 'kernel_start' is the former name of 'launch_overhead'");
}

TEST_CASE("a file may set how the software cuts pipelines and when it gathers weights") {
  const std::string route = "  gradient_route: {value: host, source: log}\n";
  const std::string said =
      "  equal_stages: {value: yes, source: log}\n  overlaps_weight_gathers: {value: yes, source: log}\n";
  const Software software = parse_coefficients(edited(small_file, route, route + said), "c.yaml").software;
  CHECK(software.equal_stages);
  CHECK(software.overlaps_weight_gathers);
}

TEST_CASE("fails with an unknown or missing key, or another format") {
  CHECK(first_line(error_with("divided_over", "divided")) == "c.yaml:10:70: unknown key 'divided'");
  CHECK(first_line(error_with("channel_undivided", "channels")) == "c.yaml:12:1: unknown key 'channels'");
  CHECK(first_line(error_with("overlaps_gradients", "overlap")) == "c.yaml:16:3: unknown key 'overlap'");
  CHECK(error_with("generator: a person\n", "").find("the key 'generator' is missing") != std::string::npos);
  CHECK(error_with("  name: {value: Toy 1.0, source: log}\n", "").find("the key 'name' is missing") != std::string::npos);
  CHECK(first_line(error_with("format: 1", "format: 3")) ==
        "c.yaml:1:9: format 3 needs a newer version of ddl-oracle: this version reads format 1");
  CHECK(error_with("    - {model: mine, layers", "    - {model: mine, layers: 1, source: log}\n    - {model: mine, layers")
            .find("duplicate limit for 'mine'") != std::string::npos);
}

}  // namespace coefficients_reader_tests
