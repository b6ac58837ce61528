// Fuzzes a device file: a parsed file is written, and parsed back to the same file.

#include "calibration/inputs/device_file.hpp"

#include "tests/fuzz/fuzzer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = ddl::result_of([&] { return ddl::parse_device_file(ddl::text_of(data, size), "device.yaml"); });
  if (!file) return 0;
  const std::string written = ddl::print_device_file(*file);
  const auto again = ddl::result_of([&] { return ddl::parse_device_file(written, "written.yaml"); });
  ddl::require(again.has_value(), "a device is refused as it was written");
  ddl::require(ddl::print_device_file(*again) == written, "a device is read back as another one");
  return 0;
}
