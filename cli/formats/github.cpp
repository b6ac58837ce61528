#include <string_view>

#include <fmt/format.h>

#include "cli/formats/format.hpp"

namespace ddl {
namespace {

/// A command is one line. In what stands before its `::`, colons and commas have a meaning, too.
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

std::string_view kind_of(FileVerdict::Level level) {
  switch (level) {
    case FileVerdict::Level::passed:
      return "notice";
    case FileVerdict::Level::at_risk:
      return "warning";
    case FileVerdict::Level::failed:
    case FileVerdict::Level::not_judged:
      return "error";
  }
  return "error";
}

}  // namespace

/// An annotation for each file, as a workflow command of GitHub [docs.github.com, "Workflow commands for GitHub Actions"].
std::string github_format(const Report& report, const Style& /*style*/) {
  std::string out;
  for (const FileVerdict& each : report.verdicts) {
    out += fmt::format("::{} file={},line={},col={},title={}::{}\n", kind_of(each.level), escaped(each.file, true),
                       each.line, each.column, escaped(each.title, true), escaped(each.message, false));
  }
  return out;
}

}  // namespace ddl
