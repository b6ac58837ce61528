#include "calibration/kernels/kernel_fit.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "calibration/inputs/device_file.hpp"
#include "calibration/inputs/machine_reader.hpp"
#include "calibration/kernels/kernel_prediction.hpp"
#include "calibration/kernels/kernel_table.hpp"
#include "estimator/kernels/kernel_model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace kernel_fit_tests {

namespace {

using namespace ddl;

std::string written(const std::string& name, const std::string& text) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / ("ddl_kernel_fit_" + name);
  std::ofstream(path) << text;
  return path;
}

KernelTable read_data(const std::string& name) { return read_kernel_table(DATA_FOLDER "kernels/" + name, {}); }

const KernelFitReport& report_of(const KernelFit& fit, KernelKind kind, const std::string& passes) {
  for (const KernelFitReport& each : fit.reports) {
    if (each.kind == kind && each.passes == passes) return each;
  }
  FAIL("no report of " << to_string(kind) << ' ' << passes);
  throw;
}

TEST_CASE("the constants of kernels that follow the formula are found") {
  Machine machine = load_machine("dgx-a100");
  const std::vector<double> constants{4, 0.7, 0.6, 3, 150, 0.9, 0.5, 1, 100, 0.1};
  const DevicePeaks peaks = device_peaks(machine.device, Precision::bf16);
  std::vector<KernelSample> samples;
  for (double m = 64; m < 40000; m *= 2.3) {
    for (double n = 128; n < 20000; n *= 2.1) {
      for (double k = 64; k < 20000; k *= 3.1) {
        const double rows = std::floor(m), columns = std::floor(n), sum = std::floor(k);
        const Work work{.flops = 2 * rows * columns * sum,
                        .activation_items = rows * sum + sum * columns + rows * columns,
                        .m = rows,
                        .n = columns,
                        .k = sum};
        const double time = form_of(KernelKind::matrix_product).time(shape_of(work, 1, 2), peaks, constants);
        samples.push_back({.kernels = {{work, Pass::forward}}, .precision = Precision::bf16, .time = Seconds(time)});
      }
    }
  }
  const KernelFit fit = fit_kernels(samples, machine.device, {.source = "here"});
  REQUIRE(fit.families.size() == 1);
  for (std::size_t i = 0; i < constants.size(); ++i) {
    CAPTURE(form_of(KernelKind::matrix_product).constants[i].name);
    CHECK(fit.families.front().constants[i] == Approx(constants[i]).epsilon(0.05));
  }
  CHECK(fit.reports.front().formula_p90 < 0.01);
}

TEST_CASE("left-out rows of published tables are predicted") {
  // The test checks the properties of a fit to all rows of a device with the few rows that are stored with this test.
  const auto left_out = [](const std::string& file, const std::string& machine, KernelKind kind, const std::string& pass,
                           double median, double p90) {
    const KernelFit fit = fit_kernels(read_data(file).samples, load_machine(machine).device, {.source = "published"});
    const KernelFitReport& report = report_of(fit, kind, pass);
    INFO(file << ' ' << pass << ": " << report.left_out_median << ", " << report.left_out_p90);
    CHECK(report.left_out_median <= median);
    CHECK(report.left_out_p90 <= p90);
    CHECK(report.left_out_median > 0);
  };
  left_out("gemm.csv", "dgx-a100", KernelKind::matrix_product, "forward", 0.06, 0.18);
  left_out("attention.csv", "dgx-h100", KernelKind::fused_attention, "forward", 0.05, 0.20);
  left_out("conv.csv", "abci", KernelKind::convolution, "forward", 0.15, 0.50);
  left_out("conv.csv", "abci", KernelKind::convolution, "backward-weight", 0.22, 0.55);
}

TEST_CASE("bundled files predict the published tables") {
  const auto errors_of = [](const std::string& file, const std::string& machine) {
    const Machine loaded = load_machine(machine);
    std::vector<double> errors;
    for (const KernelSample& sample : read_data(file).samples) {
      const KernelModel model(loaded.device, sample.precision);
      const auto& [work, pass] = sample.kernels.front();
      CHECK(model.time(work, pass, 1).source == Provenance::curve);
      errors.push_back(std::abs(time_together(model, sample.kernels, 1).time / sample.time - 1));
    }
    std::sort(errors.begin(), errors.end());
    return errors;
  };
  for (const auto& [file, machine] : {std::pair{"gemm.csv", "dgx-a100"}, {"attention.csv", "dgx-h100"}}) {
    const std::vector<double> all = errors_of(file, machine);
    CHECK(all[all.size() / 2] < 0.05);
    CHECK(all[all.size() * 9 / 10] < 0.18);
  }
}

TEST_CASE("a copy timed with a kernel is subtracted, unless it takes most of the time") {
  const Machine machine = load_machine("dgx-a100");
  const KernelModel model(machine.device, Precision::bf16);
  const auto constants_of = [&](double copied) {
    std::vector<KernelSample> samples;
    for (const double side : {1024.0, 1536.0, 2048.0, 3072.0, 4096.0, 6144.0, 8192.0}) {
      const Work work{.flops = 2 * side * side * side, .activation_items = 3 * side * side, .m = side, .n = side, .k = side};
      const Work copy{.activation_items = copied * side * side, .kind = KernelKind::elementwise};
      const Seconds alone = Seconds(work.flops / 200e12);
      samples.push_back({.kernels = {{work, Pass::forward}, {copy, Pass::forward}},
                         .precision = Precision::bf16,
                         .time = alone + model.seconds(copy, Pass::forward, 1)});
    }
    const KernelFit fit = fit_kernels(samples, machine.device, {.source = "here"});
    return fit.families.empty() ? std::vector<double>{} : fit.families.front().constants;
  };
  const std::vector<double> without = constants_of(1e-6), with = constants_of(2);
  REQUIRE(without.size() == with.size());
  REQUIRE_FALSE(with.empty());
  for (std::size_t i = 0; i < with.size(); ++i) CHECK(with[i] == Approx(without[i]).epsilon(0.01));
  CHECK(constants_of(1e4).empty());
}

TEST_CASE("a launch overhead in the times is subtracted") {
  const Machine machine = load_machine("dgx-a100");
  const KernelTable table = read_data("memory_bound.csv");
  CHECK(table.ignored > 0);
  const KernelFit with = fit_kernels(table.samples, machine.device, {.source = "published"});
  const KernelFit without = fit_kernels(table.samples, machine.device, {.includes_launch = true, .source = "published"});
  REQUIRE(with.families.size() == without.families.size());
  const double usual = form_of(KernelKind::elementwise).constants.front().usual;
  bool any_longer = false;
  for (std::size_t i = 0; i < with.families.size(); ++i) {
    CHECK(without.families[i].constants.front() <= usual);
    any_longer = any_longer || with.families[i].constants.front() > 2 * usual;
  }
  CHECK(any_longer);
}

TEST_CASE("a device file reads back as it was written") {
  DeviceFile file{.names = {"NVIDIA A100", "A100"},
                  .sources = {{"here", "this test"}},
                  .kernels = {.device = "NVIDIA A100", .families = {}}};
  const Machine machine = load_machine("dgx-a100");
  file.kernels.families =
      fit_kernels(read_data("conv.csv").samples, machine.device, {.most_residuals = 40, .source = "here"}).families;
  const std::string text = print_device_file(file);
  const DeviceFile read = parse_device_file(text, "device.yaml");
  CHECK(print_device_file(read) == text);
  CHECK(read.names == file.names);
  REQUIRE(read.kernels.families.size() == file.kernels.families.size());
  CHECK(read.kernels.families.front().residuals.size() == 40);
}

TEST_CASE("a family of a device file may describe some of the file's devices") {
  const auto has_fp8_products = [](const char* machine) {
    const auto kernels = bundled_kernels(load_machine(machine).device);
    return std::any_of(kernels->families.begin(), kernels->families.end(), [](const KernelFamily& family) {
      return family.kind == KernelKind::matrix_product && family.precision == Precision::fp8;
    });
  };
  // Measured at the power limit of an MI300X, 750 W. An MI325X may take 1,000 W.
  CHECK(has_fp8_products("server-mi300x"));
  CHECK_FALSE(has_fp8_products("server-mi325x"));
  CHECK(bundled_kernels(load_machine("server-mi325x").device)->families.size() + 1 ==
        bundled_kernels(load_machine("server-mi300x").device)->families.size());
  const auto file = [](const std::string& device) {
    return parse_device_file(
        "format: 1\nnames: [A, B]\nsources: {here: test}\nfamilies:\n  - kind: elementwise\n"
        "    precision: fp32\n    devices: [" +
            device +
            "]\n    source: here\n    rows: 3\n    constants: {start: 3, bandwidth: 0.8, peak: 0.8}\n"
            "    spread: {inside: 0.1, outside: 0.2}\n",
        "device.yaml");
  };
  CHECK(file("B").kernels.families.front().devices == std::vector<std::string>{"B"});
  CHECK(print_device_file(file("B")).find("    devices: [B]\n") != std::string::npos);
  CHECK(error_of([&] { static_cast<void>(file("C")); }).find("device.yaml:7:15: unknown device 'C'") == 0);
}

TEST_CASE("a product of 800 columns takes about as long on an MI355X as its neighbors") {
  const KernelModel kernels(load_machine("server-mi355x").device, Precision::bf16);
  const auto seconds = [&](double rows, double columns) {
    const Work product{.flops = 2 * rows * columns * 5120, .m = rows, .n = columns, .k = 5120};
    return kernels.seconds(product, Pass::forward, 1).value();
  };
  for (const double rows : {1024.0, 2048.0}) CHECK(seconds(rows, 800) < 1.5 * seconds(rows, 1024));
}

TEST_CASE("a constant that kernels do not determine may be missing in a device file, and is not written") {
  const std::string head =
      "format: 1\nnames: [A]\nsources: {here: test}\nfamilies:\n  - kind: elementwise\n    precision: fp32\n"
      "    source: here\n    rows: 3\n    constants: {start: 3, bandwidth: 0.8, peak: 0.8";
  const std::string rest = "}\n    spread: {inside: 0.1, outside: 0.2}\n";
  const auto items = [&](const std::string& more) {
    const DeviceFile file = parse_device_file(head + more + rest, "device.yaml");
    const double value = file.kernels.families.front().constants.back();
    CHECK((print_device_file(file).find("items") == std::string::npos) == more.empty());
    return value;
  };
  CHECK(items(", items: 13") == 13);
  CHECK(items("") == form_of(KernelKind::elementwise).constants.back().usual);
}

TEST_CASE("errors in a device file state their position") {
  const std::string head = "format: 1\nnames: [A]\nsources: {here: test}\nfamilies:\n";
  const auto error = [&](const std::string& family) {
    return error_of([&] { static_cast<void>(parse_device_file(head + family, "device.yaml")); });
  };
  const std::string rest =
      "    precision: fp32\n    source: here\n    rows: 3\n    constants: {start: 3, bandwidth: 0.8, peak: 0.8}\n"
      "    spread: {inside: 0.1, outside: 0.2}\n";
  CHECK(error("  - kind: elementwise\n" + rest) == "no error");
  CHECK(error("  - kind: elementwis\n" + rest).starts_with("device.yaml:5:11: unknown kind of kernel 'elementwis'"));
  CHECK(
      error("  - kind: elementwise\n    pass: sideways\n" + rest).starts_with("device.yaml:6:11: unknown pass 'sideways'"));
  CHECK(error("  - kind: elementwise\n" + rest + "    residuals: [1 2 3]\n").find("six numbers are expected") !=
        std::string::npos);
  CHECK(error("  - kind: elementwise\n" + rest + "    residuals: [1 2 3 4 5 nan]\n").find("six numbers are expected") !=
        std::string::npos);
  std::string far = rest;
  far.replace(far.find("bandwidth: 0.8"), 14, "bandwidth: 800");
  CHECK(error("  - kind: elementwise\n" + far).starts_with("device.yaml:9:38: '800' is too large"));
  std::string uncited = rest;
  uncited.replace(uncited.find("here"), 4, "elsewhere");
  CHECK(error("  - kind: elementwise\n" + uncited).find("unknown source 'elsewhere'") != std::string::npos);
}

TEST_CASE("tables of kernels are read by their columns") {
  const std::string lines =
      written("lines.csv",
              "problem,time_s\n"
              "fully_connected features=64 bias=no in=32 samples=256 precision=bf16 pass=forward,2e-6\n"
              "activation kind=relu in=64x8x8 samples=4 precision=fp32 pass=forward + activation "
              "kind=relu in=64x8x8 samples=4 precision=fp32 pass=backward-data,5e-6\n");
  const KernelTable table = read_kernel_table(lines, {});
  REQUIRE(table.samples.size() == 2);
  const auto& [work, pass] = table.samples[0].kernels.front();
  CHECK(work.flops == 2.0 * 256 * 64 * 32);
  CHECK(work.m == 256);
  CHECK(table.samples[0].precision == Precision::bf16);
  CHECK(table.samples[1].kernels.size() == 2);
  CHECK(table.samples[1].time.value() == 5e-6);

  const std::string products = written("products.csv",
                                       "gpu,dtype,layout_or_op,batch,m,n,k,time_us\n"
                                       "a,bf16,linear_fwd(TN),1,8,16,32,2\n"
                                       "b,bf16,linear_bwd(dgrad+wgrad),1,8,16,32,2\n"
                                       "a,fp4,linear_fwd(TN),1,8,16,32,2\n");
  const std::vector<RowFilter> only_a{{"gpu", {"a"}}};
  CHECK(read_kernel_table(products, only_a).samples.size() == 1);
  CHECK(read_kernel_table(products, only_a).ignored == 1);
  const KernelTable both = read_kernel_table(products, {});
  REQUIRE(both.samples.size() == 2);
  // The gradient of the input is a sum over the outputs, and the gradient of the weights is a sum over the rows.
  CHECK(both.samples[1].kernels[0].first.k == 16);
  CHECK(both.samples[1].kernels[1].first.k == 8);

  // Inference software also writes keys and values into a cache, so its rows have a second kernel. Encoders have no cache.
  const KernelTable attention =
      read_kernel_table(written("attention.csv",
                                "source,dtype,pass,batch,seq,heads,kv_heads,head_dim,causal,time_us\n"
                                "aic-sglang-0.5.10,bf16,fwd,2,1024,32,8,128,1,100\n"
                                "aic-sglang-0.5.14,bf16,fwd,2,1024,32,8,128,0,100\n"
                                "ours,bf16,fwd,2,1024,32,8,128,1,100\n"),
                        {});
  REQUIRE(attention.samples.size() == 3);
  REQUIRE(attention.samples[0].kernels.size() == 2);
  CHECK(attention.samples[0].kernels[1].first.activation_items == 2.0 * 1024 * 8 * 128 * 2);
  CHECK(attention.samples[1].kernels.size() == 1);
  CHECK(attention.samples[2].kernels.size() == 1);

  const auto error = [](const std::string& text) {
    const std::string path = written("wrong.csv", text);
    return error_of([&] { static_cast<void>(read_kernel_table(path, {})); });
  };
  CHECK(error("a,b\n1,2\n").find("unknown columns") != std::string::npos);
  CHECK(error("dtype,layout_or_op,batch,m,n,k,time_us\nbf16,fwd,1,0,1,1,1\n").find(":2:12: must be a number from 1") !=
        std::string::npos);
  CHECK(error("dtype,layout_or_op,batch,m,n,k,time_us\nbf16,fwd,1,1,1,1,0\n").find("must be a time greater than zero") !=
        std::string::npos);
  CHECK(error("dtype,op,shape,time_us\nfp32,add,4x,1\n").find("'4x' is not a shape") != std::string::npos);
  CHECK(error("problem,time_s\nrelu,1\n").find(":2") != std::string::npos);
}

TEST_CASE("a device without a file has the constants of a device with its compute capability, else of others") {
  const auto products = [](const DeviceKernels& kernels) {
    for (const KernelFamily& family : kernels.families) {
      if (family.kind == KernelKind::matrix_product && family.precision == Precision::bf16) return family;
    }
    return KernelFamily{};
  };
  const KernelFamily h100 = products(*bundled_kernels(load_machine("dgx-h100").device));
  Device unknown = load_machine("dgx-h200").device;
  REQUIRE(unknown.compute_capability == 9.0);
  const KernelFamily like = products(*transferred_kernels(unknown));
  CHECK(like.constants == h100.constants);
  // Residuals of single kernels of the other device apply only to that device.
  CHECK_FALSE(h100.residuals.empty());
  CHECK(like.residuals.empty());
  unknown.compute_capability = 12.0;
  CHECK(products(*transferred_kernels(unknown)).constants != h100.constants);
  // RTX 8000 (Turing) runs convolutions like T4, whose convolutions were measured.
  const auto convolutions = [](const DeviceKernels& kernels) {
    return std::find_if(kernels.families.begin(), kernels.families.end(),
                        [](const KernelFamily& family) {
                          return family.kind == KernelKind::convolution && family.precision == Precision::fp32;
                        })
        ->constants;
  };
  CHECK(convolutions(*transferred_kernels(load_machine("workstation-rtx8000").device)) ==
        convolutions(*bundled_kernels(load_machine("workstation-t4").device)));
  unknown.compute_capability.reset();
  CHECK_FALSE(products(*transferred_kernels(unknown)).constants.empty());
  // The file is written and parsed again.
  DeviceFile file{.names = {"a"}, .sources = {}, .kernels = {}, .compute_capability = 9.0};
  CHECK(print_device_file(file).find("compute_capability: 9\n") != std::string::npos);
}

TEST_CASE("a scan of chunks takes the time measured on H800") {
  // The source is tile-ai/tilelang, benchmark/mamba2/README.md: 8 sequences, 80 heads of 64, states
  // of 128, chunks of 256, in fp16. The kernel reads values, C, the states before each chunk, the
  // products of B and C, step sizes and their sums. It writes as many items as there are values.
  constexpr double samples = 8, heads = 80, head_size = 64, state = 128, chunk = 256;
  const KernelModel model(load_machine("dgx-h100").device, Precision::fp16);
  for (const auto& [tokens, ms] : std::vector<std::pair<double, double>>{
           {1024, 0.169}, {2048, 0.329}, {4096, 0.645}, {8192, 1.278}, {16384, 2.531}, {32768, 5.076}}) {
    const double values = tokens * heads * head_size;
    const Work work{.flops = values * (chunk + 2 * state),
                    .activation_items = 2 * values + tokens * state + tokens / chunk * heads * head_size * state +
                                        tokens * chunk + 2 * tokens * heads,
                    .kind = KernelKind::chunk_scan};
    CHECK(model.seconds(work, Pass::forward, samples).value() == Approx(ms * 1e-3).epsilon(0.05));
    CHECK(model.least(work, Pass::forward, samples).value() < model.seconds(work, Pass::forward, samples).value());
  }
}

}  // namespace

}  // namespace kernel_fit_tests
