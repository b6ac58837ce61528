// Fuzzes the code of a notebook: any code is read, not recognized, or refused.

#include <nlohmann/json.hpp>

#include "tests/fuzz/configuration.hpp"

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
  ddl::look_at_configuration(ddl::notebook_of(ddl::text_of(data, size)), ".ipynb");
  return 0;
}
