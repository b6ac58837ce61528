// Fuzzes a data set's file.

#include <cmath>

#include "model_zoo/files/dataset.hpp"
#include "tests/fuzz/fuzzer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ddl::succeeds([&] {
    const ddl::Dataset dataset = ddl::parse_dataset(ddl::text_of(data, size), "dataset.yaml");
    ddl::require(dataset.samples > 0 && dataset.sample.items() > 0, "a data set without samples");
    ddl::require(std::isfinite(dataset.sample_bytes().value()), "the size of a sample is not a size");
  });
  return 0;
}
