#include <string_view>

#include <fmt/format.h>

#include "cli/report/formats/format.hpp"
#include "core/enum_array.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

/// Escapes a text for a workflow command, which is one line. In a property, which precedes the last
/// `::`, colons and commas are escaped, too.
std::string escaped(std::string_view text, bool is_property) {
  std::string out;
  for (const char c : text) {
    const bool special = c == '%' || c == '\r' || c == '\n' || (is_property && (c == ':' || c == ','));
    if (special) {
      out += fmt::format("%{:02X}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

/// The workflow command for each FileVerdict::Level, in the order of the levels.
constexpr EnumNames<FileVerdict::Level> kinds{"notice", "warning", "error", "error"};

}  // namespace

/// Prints an annotation for each file, as a workflow command of GitHub [docs.github.com, "Workflow
/// commands for GitHub Actions"].
std::string github_format(const Report& report, const Style& /*style*/) {
  std::string out;
  for (const FileVerdict& each : report.verdicts) {
    out +=
        fmt::format("::{} file={},line={},col={},title={}::{}\n", kinds[each.level], escaped(visible(each.file), true),
                    each.line, each.column, escaped(visible(each.title), true), escaped(visible_lines(each.message), false));
  }
  return out;
}

}  // namespace ddl
