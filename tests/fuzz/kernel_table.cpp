// Fuzzes a table of measured kernels: times are above zero, and errors of the kernel model and fitted constants are finite.

#include "calibration/kernels/kernel_table.hpp"

#include <cmath>

#include "calibration/inputs/device_file.hpp"
#include "calibration/inputs/machine_reader.hpp"
#include "calibration/kernels/kernel_fit.hpp"
#include "calibration/kernels/kernel_validation.hpp"
#include "cli/options/problem_file.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "tests/fuzz/reports.hpp"

namespace ddl {
namespace {

/// The number of rows that are fitted instantly.
constexpr std::size_t few_rows = 24;

void validate(const std::vector<KernelSample>& samples, const Device& device) {
  const auto validation = result_of([&] { return validate_kernels(samples, device, Seconds(0)); });
  if (!validation) return;
  for (const KernelAccuracy& each : validation->groups) {
    require(std::isfinite(each.median_error) && std::isfinite(each.p90_error), "an error that is none");
    require(std::isfinite(each.median_ratio), "a ratio that is none");
  }
}

void fit(const std::vector<KernelSample>& samples, const Device& device) {
  const auto fit = result_of([&] { return fit_kernels(samples, device, {.source = "runs"}); });
  if (!fit) return;
  for (const KernelFitReport& each : fit->reports)
    require(std::isfinite(each.formula_median) && std::isfinite(each.formula_p90), "an error of a fit that is none");
  if (fit->families.empty()) return;
  DeviceFile file;
  file.names = {device.name};
  file.sources = {{"runs", "fuzzer"}};
  file.kernels.families = fit->families;
  require(succeeds([&] { static_cast<void>(parse_device_file(print_device_file(file), "again.yaml")); }),
          "a fitted device is refused as it was written");
}

}  // namespace
}  // namespace ddl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ddl::Machine machine = ddl::load_machine("dgx-a100");
  const ddl::FileOfText file(ddl::text_of(data, size), ".csv");
  const auto problems = ddl::result_of([&] { return ddl::ProblemFile(file.path()); });
  ddl::require(!problems || !problems->problems().empty(), "a file without problems");
  const auto table = ddl::result_of([&] { return ddl::read_kernel_table(file.path(), {}); });
  if (!table) return 0;
  for (const ddl::KernelSample& sample : table->samples) {
    ddl::require(!sample.kernels.empty(), "a row without kernels");
    ddl::require(std::isfinite(sample.time.value()) && sample.time.value() > 0, "a time that is none");
  }
  if (table->samples.empty() || table->samples.size() > ddl::few_rows) return 0;
  ddl::validate(table->samples, machine.device);
  ddl::fit(table->samples, machine.device);
  return 0;
}
