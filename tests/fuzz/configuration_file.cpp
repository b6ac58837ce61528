// Fuzzes a configuration of another tool: any text is parsed, not recognized, or refused.

#include "cli/options/configurations/configuration.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "tests/fuzz/reports.hpp"

namespace ddl {
namespace {

/// Returns the ending of the file's name, which decides how some kinds of text are read: pages, makefiles, and jobs of
/// clusters. A brace also starts some YAML files.
const char* ending_of(const std::string& text) {
  const auto says = [&](const char* word) { return text.find(word) != std::string::npos; };
  if (text.starts_with("#!")) return ".sh";
  if (text.starts_with('{')) return text.size() % 2 == 1 ? ".yml" : ".sh";
  if (says("\n```") || says("\n~~~")) return ".md";
  if (says("\n\t")) return ".mk";
  const bool starts_command = says("run:") || says("command:") || says("commands:") || says("args:") || says("entrypoint:");
  return starts_command ? ".yaml" : ".sh";
}

}  // namespace
}  // namespace ddl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = ddl::text_of(data, size);
  const ddl::FileOfText file(text, ddl::ending_of(text));
  const auto read = ddl::result_of([&] { return ddl::recognize_configuration(file.path()); });
  if (!read || !*read) return 0;
  const auto asked =
      ddl::result_of([&] { return ddl::options_of(**read, {}, {}, [](const std::string&) { return false; }); });
  if (asked) ddl::require(asked->own.gpus.value_or(0) >= 1, "a plan without devices");
  ddl::look_at_reports({"check", file.path()}, {"text", "json"}, text);
  return 0;
}
