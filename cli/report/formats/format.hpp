#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/report/formats/text.hpp"
#include "cli/report/report.hpp"

namespace ddl {

/// An output format of a report.
struct Format {
  std::string_view name;  ///< value of --format
  Content writes;         ///< the content that a report must have, to be written in this format
  std::string (*write)(const Report&, const Style&);
};

/// All formats, in the order of help. Each format is defined in its own file.
[[nodiscard]] std::span<const Format> formats();
/// Throws Error for an unknown name.
[[nodiscard]] const Format& format_named(std::string_view name);

/// Returns a document with the parts of a question that could not be answered; empty if every part
/// was answered. It is for formats that people read without seeing stderr.
[[nodiscard]] Document errors_document(const Report& report);

/// Prints a list of flat objects with equal keys as CSV, one column per key. Elements of a list are joined by spaces. Null
/// becomes an empty cell.
[[nodiscard]] std::string csv_of(const nlohmann::ordered_json& objects);

std::string text_format(const Report& report, const Style& style);
std::string json_format(const Report& report, const Style& style);
std::string csv_format(const Report& report, const Style& style);
std::string markdown_format(const Report& report, const Style& style);
std::string html_format(const Report& report, const Style& style);
std::string trace_format(const Report& report, const Style& style);
std::string junit_format(const Report& report, const Style& style);
std::string github_format(const Report& report, const Style& style);
std::string yaml_format(const Report& report, const Style& style);

}  // namespace ddl
