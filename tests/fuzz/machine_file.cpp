// Fuzzes a machine file: the file is parsed, a plan is estimated, and the machine is written and
// parsed back to the same machine.

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/machine_text.hpp"
#include "estimator/search/time_bounds.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "tests/fuzz/reports.hpp"
#include "tests/owned_job.hpp"

namespace ddl {
namespace {

void price(const Machine& machine) {
  static const Model model = load_model("alexnet");
  for (const Precision precision : enum_values<Precision>) {
    if (!machine.device.peak_at(precision)) continue;
    const OwnedJob owned(model, machine, Assumptions(), 1e6, std::nullopt, precision);
    const Estimator estimator(owned.job);
    const TimeBounds bounds(estimator);
    Plan plan;
    plan.mesh.set(Axis::data, 4);
    plan.mesh.set(Axis::filter, 2);
    plan.global_batch = 256;
    plan.precision = precision;
    static_cast<void>(estimator.estimate(plan));
    static_cast<void>(bounds.least(Closeness::degrees, plan));
  }
}

}  // namespace
}  // namespace ddl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto sheet = ddl::result_of([&] { return ddl::parse_sourced_machine(ddl::text_of(data, size), "machine.yaml"); });
  if (!sheet) return 0;
  ddl::require(!sheet->numbers.empty(), "a machine without a number");
  const ddl::SourcedMachine again = ddl::parse_sourced_machine(ddl::machine_text(*sheet), "again.yaml");
  ddl::require(again.numbers.size() == sheet->numbers.size(), "a machine that is written has other numbers");
  for (std::size_t i = 0; i < again.numbers.size(); ++i) {
    ddl::require(again.numbers[i].key == sheet->numbers[i].key && again.numbers[i].value == sheet->numbers[i].value &&
                     again.numbers[i].source == sheet->numbers[i].source,
                 "a number that is written reads back as another one");
  }
  ddl::price(sheet->machine);
  const ddl::FileOfText file(ddl::text_of(data, size), ".yaml");
  ddl::look_at_reports({"recommend", "--model", "alexnet", "--machine", file.path(), "--gpus", "4", "--top", "1"},
                       {"text", "csv", "json"}, ddl::text_of(data, size));
  return 0;
}
