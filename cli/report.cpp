#include "cli/report.hpp"

#include <cstdlib>
#include <iostream>

#include <unistd.h>

#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

bool wants_color(const ReportOptions& options) {
  if (options.color == "always") return true;
  if (options.color == "never" || !options.output.empty()) return false;
  const char* no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && isatty(STDOUT_FILENO) == 1;
}

std::string render(const Report& report, const ReportOptions& options) {
  switch (options.format) {
    case Format::text:
      return report.text(Style(wants_color(options)));
    // A path given on the command line need not be UTF-8, which JSON is.
    case Format::json:
      return report.json().dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    case Format::csv:
      return report.csv();
  }
  return {};
}

}  // namespace

void write_report(const Report& report, const ReportOptions& options) {
  const std::string content = render(report, options);
  if (!options.output.empty()) {
    write_file(options.output, content);
    return;
  }
  std::cout << content << std::flush;
  if (!std::cout) throw Error("cannot write to the standard output");
}

}  // namespace ddl
