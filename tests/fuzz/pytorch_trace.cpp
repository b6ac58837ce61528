// Fuzzes a trace of PyTorch's profiler, and times of whole steps: the resulting profile can be parsed back.

#include "profiler/importers/pytorch_trace.hpp"

#include <cmath>

#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "profiler/importers/step_times.hpp"
#include "tests/fuzz/fuzzer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ddl::Model model = ddl::parse_model(
      "format: 1\nmodel: m\ninput: {channels: 4, size: 8x8}\nlayers:\n"
      "  - convolution: {filters: 4, kernel: 3, padding: 1, bias: no}\n  - norm: batch\n  - activation: relu\n"
      "  - residual: [{convolution: {filters: 4, kernel: 3, padding: 1, bias: no}}]\n  - reshape: {channels: 16, tokens: "
      "16}\n"
      "  - fully_connected: 48\n  - attention: {heads: 4}\n  - fully_connected: 16\n  - loss: cross_entropy\n",
      "m.yaml");
  const auto imported = ddl::result_of([&] {
    const std::string text = ddl::text_of(data, size);
    const ddl::ProfileImportOptions options{.samples = {}, .precision = {}, .optimizer = {}, .device = "d"};
    return ddl::is_step_times(text) ? ddl::import_step_times(text, "any.json", model, options)
                                    : ddl::import_pytorch_trace(text, "any.json", model, options);
  });
  if (!imported) return 0;
  ddl::require(std::isfinite(imported->matched.value()) && imported->matched <= imported->step,
               "more than the step is matched");
  const auto again = ddl::result_of([&] { return ddl::parse_profile(ddl::print_profile(imported->profile), "again"); });
  ddl::require(again && again->rows.size() == imported->profile.rows.size(), "a profile is not read as it was written");
  return 0;
}
