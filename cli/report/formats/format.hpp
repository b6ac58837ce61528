#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/report/formats/text.hpp"
#include "cli/report/report.hpp"

namespace ddl {

/// A way of writing a report.
struct Format {
  std::string_view name;  ///< as --format takes it
  Content writes;         ///< what a report must hold for it
  std::string (*write)(const Report&, const Style&);
};

/// All of them, in the order in which they are offered. Each has a file of its own.
[[nodiscard]] std::span<const Format> formats();
/// Throws Error on a name that is none.
[[nodiscard]] const Format& format_named(std::string_view name);

/// What a report could not answer, for formats that are read apart from stderr; empty where it answered all.
[[nodiscard]] Document errors_document(const Report& report);

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
