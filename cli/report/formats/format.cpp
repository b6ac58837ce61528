#include "cli/report/formats/format.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace ddl {
namespace {

constexpr std::array<Format, 9> all_formats{{{"text", Content::document, text_format},
                                             {"json", Content::json, json_format},
                                             {"csv", Content::rows, csv_format},
                                             {"markdown", Content::document, markdown_format},
                                             {"html", Content::document, html_format},
                                             {"trace", Content::steps, trace_format},
                                             {"junit", Content::verdicts, junit_format},
                                             {"github", Content::verdicts, github_format},
                                             {"yaml", Content::yaml, yaml_format}}};

}  // namespace

std::span<const Format> formats() { return all_formats; }

const Format& format_named(std::string_view name) {
  const auto* const named = std::ranges::find_if(all_formats, [&](const Format& each) { return each.name == name; });
  if (named == all_formats.end()) throw Error(fmt::format("unknown format {}", name));
  return *named;
}

Document errors_document(const Report& report) {
  Document document;
  if (!report.errors.empty()) document.section("Not answered");
  for (const Error& error : report.errors) {
    const std::string message = error.what();
    const std::size_t end = std::min(message.find('\n'), message.size());
    document.line("error", ": " + message.substr(0, end));
    if (end < message.size()) document.add(Verbatim{message.substr(end + 1)});  // the line of the file, and the caret
    if (!error.hint().empty()) document.line("hint: " + error.hint());
  }
  return document;
}

}  // namespace ddl
