// Fuzzes a file that describes how a framework trains. Reports of a plan that uses a parsed file have finite figures.

#include "calibration/inputs/software_file.hpp"

#include "tests/fuzz/fuzzer.hpp"
#include "tests/fuzz/reports.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = ddl::text_of(data, size);
  const auto software = ddl::result_of([&] { return ddl::parse_software(text, "software.yaml"); });
  if (!software) return 0;
  for (const ddl::SoftwareFile::Line& line : software->lines) ddl::require(!line.key.empty(), "a value without a key");
  const ddl::FileOfText file(text, ".yaml");
  ddl::look_at_reports(
      {"recommend", "--model", "alexnet", "--machine", "dgx-a100", "--software", file.path(), "--gpus", "4", "--top", "1"},
      {"text", "json"}, text);
  return 0;
}
