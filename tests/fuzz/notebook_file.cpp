// Fuzzes the code of a notebook: any code is read, not recognized, or refused.

#include <nlohmann/json.hpp>

#include "cli/options/configurations/configuration.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "tests/fuzz/reports.hpp"

namespace ddl {
namespace {

/// Returns a notebook with cells that lines of `# %%` separate. A text that begins with a brace is the notebook itself.
std::string notebook_of(const std::string& text) {
  if (text.starts_with('{')) return text;
  constexpr std::string_view mark = "\n# %%\n";
  nlohmann::json cells = nlohmann::json::array();
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(mark, at), text.size());
    cells.push_back({{"cell_type", "code"}, {"source", text.substr(at, end - at)}});
    at = end + mark.size();
  }
  return nlohmann::json{{"cells", cells}, {"nbformat", 4}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace
}  // namespace ddl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = ddl::notebook_of(ddl::text_of(data, size));
  const ddl::FileOfText file(text, ".ipynb");
  const auto read = ddl::result_of([&] { return ddl::recognize_configuration(file.path()); });
  if (!read || !*read) return 0;
  const auto asked =
      ddl::result_of([&] { return ddl::options_of(**read, {}, {}, [](const std::string&) { return false; }); });
  if (asked) ddl::require(asked->own.gpus.value_or(0) >= 1, "a plan without devices");
  ddl::look_at_reports({"check", file.path()}, {"text", "json"}, text);
  return 0;
}
