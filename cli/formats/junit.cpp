#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/documents/check.hpp"

namespace ddl {
namespace {

/// A path need not be UTF-8, which the document is.
std::string as_utf8(const std::string& text) {
  using Json = nlohmann::ordered_json;
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

/// For an attribute or an element alike. XML 1.0 has no control characters, not even escaped, and an attribute's line breaks
/// would become blanks.
std::string xml(const std::string& text) {
  std::string out;
  for (const char c : as_utf8(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\t':
        out += "&#9;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
  }
  return out;
}

std::string element(const char* name, const std::string& type, const std::string& message, const std::string& details) {
  return fmt::format("      <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n", name, xml(type), xml(message), xml(details));
}

std::string outcome(const JobCheck& check) {
  if (check.problem) {
    const std::string& message = check.problem->message;
    const std::string& hint = check.problem->hint;
    return element("error", "not judged", message.substr(0, message.find('\n')),
                   hint.empty() ? message : message + "\nhint: " + hint);
  }
  const std::string details = checks_text({check}, Style(false));
  if (check.fitting.verdict == Verdict::fits) return fmt::format("      <system-out>{}</system-out>\n", xml(details));
  return element("failure", std::string(to_string(check.fitting.verdict)), need_text(check), details);
}

}  // namespace

std::string checks_junit(const std::vector<JobCheck>& checks) {
  const auto errors =
      std::count_if(checks.begin(), checks.end(), [](const JobCheck& each) { return each.problem.has_value(); });
  const auto failures = std::count_if(checks.begin(), checks.end(), [](const JobCheck& each) {
    return !each.problem && each.fitting.verdict != Verdict::fits;
  });
  const std::string counts = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\"", checks.size(), failures, errors);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += fmt::format("<testsuites name=\"ddl-oracle\" {0}>\n  <testsuite name=\"check\" {0}>\n", counts);
  for (const JobCheck& check : checks) {
    const std::string file = xml(check.file);
    out += fmt::format("    <testcase classname=\"check\" name=\"{0}\" file=\"{0}\" line=\"{1}\">\n{2}    </testcase>\n",
                       file, check.problem ? check.problem->line : check.line, outcome(check));
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace ddl
