// Fuzzes a table of layer times: the resulting profile can be parsed back.

#include "profiler/importers/layer_table.hpp"

#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/fuzz/fuzzer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ddl::Model model = ddl::parse_model(
      "format: 1\nmodel: m\ninput: {channels: 4, size: 8x8}\nlayers:\n"
      "  - convolution: {filters: 4, kernel: 3, padding: 1}\n  - norm: batch\n  - activation: relu\n  - flatten\n"
      "  - fully_connected: 10\n  - loss: cross_entropy\n",
      "m.yaml");
  const auto imported = ddl::result_of([&] {
    return ddl::import_layer_table(ddl::text_of(data, size), "any.csv", model,
                                   {.samples = 2, .precision = {}, .optimizer = {}, .device = "d"});
  });
  if (!imported) return 0;
  const auto again = ddl::result_of([&] { return ddl::parse_profile(ddl::print_profile(imported->profile), "again"); });
  ddl::require(again && again->rows.size() == imported->profile.rows.size(), "a profile is not read as it was written");
  return 0;
}
