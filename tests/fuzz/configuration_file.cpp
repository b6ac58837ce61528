// Fuzzes a configuration of another tool: any text is parsed, not recognized, or refused.

#include "cli/options/configurations/configuration.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "tests/fuzz/reports.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A brace also starts some YAML files.
  const bool is_yaml = size > 1 && data[0] == '{' && size % 2 == 1;
  const ddl::FileOfText file(ddl::text_of(data, size), is_yaml ? ".yml" : ".sh");
  const auto read = ddl::result_of([&] { return ddl::recognize_configuration(file.path()); });
  if (!read || !*read) return 0;
  const auto asked =
      ddl::result_of([&] { return ddl::options_of(**read, {}, {}, [](const std::string&) { return false; }); });
  if (asked) ddl::require(asked->own.gpus.value_or(0) >= 1, "a plan without devices");
  ddl::look_at_reports({"check", file.path()}, {"text", "json"}, ddl::text_of(data, size));
  return 0;
}
