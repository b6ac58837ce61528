#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/report/formats/format.hpp"
#include "cli/report/formats/text.hpp"

namespace ddl {
namespace {

/// Converts a text to valid UTF-8, as XML requires. A path may be invalid UTF-8.
std::string as_utf8(const std::string& text) {
  using Json = nlohmann::ordered_json;
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

/// Escapes a text for an XML attribute or element. XML 1.0 allows no control characters, not even escaped ones. An XML
/// reader would convert line breaks in an attribute to spaces, so they are escaped.
std::string xml(const std::string& text) {
  constexpr std::string_view special = "&<>\"\n\t";
  constexpr std::array<std::string_view, 6> written{"&amp;", "&lt;", "&gt;", "&quot;", "&#10;", "&#9;"};
  std::string out;
  for (const char c : as_utf8(text)) {
    const std::size_t found = special.find(c);
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    out += found != std::string_view::npos ? std::string(written[found]) : std::string(1, control ? '?' : c);
  }
  return out;
}

std::string element(const char* name, const std::string& type, const std::string& message, const std::string& details) {
  return fmt::format("      <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n", name, xml(type), xml(message), xml(details));
}

std::string outcome(const FileVerdict& verdict) {
  if (verdict.level == FileVerdict::Level::not_judged)
    return element("error", verdict.title, verdict.summary, verdict.message);
  const std::string details = text_of(verdict.document, Style(false));
  if (verdict.level == FileVerdict::Level::passed || verdict.is_allowed)
    return fmt::format("      <system-out>{}</system-out>\n", xml(details));
  return element("failure", verdict.title, verdict.summary, details);
}

}  // namespace

/// Prints a test case for each file, as XML in the format of JUnit.
std::string junit_format(const Report& report, const Style& /*style*/) {
  using Level = FileVerdict::Level;
  const auto count = [&](Level level) {
    return std::ranges::count_if(report.verdicts,
                                 [&](const FileVerdict& each) { return each.level == level && !each.is_allowed; });
  };
  const std::string counts = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\"", report.verdicts.size(),
                                         count(Level::at_risk) + count(Level::failed), count(Level::not_judged));
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += fmt::format("<testsuites name=\"ddl-oracle\" {0}>\n  <testsuite name=\"check\" {0}>\n", counts);
  for (const FileVerdict& each : report.verdicts) {
    out += fmt::format("    <testcase classname=\"check\" name=\"{0}\" file=\"{0}\" line=\"{1}\">\n{2}    </testcase>\n",
                       xml(each.file), each.line, outcome(each));
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace ddl
