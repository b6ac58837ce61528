// Fuzzes a configuration of another tool: any text is parsed, not recognized, or refused.

#include "tests/fuzz/configuration.hpp"

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
  ddl::look_at_configuration(text, ddl::ending_of(text));
  return 0;
}
