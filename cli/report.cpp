#include "cli/report.hpp"

#include <cstdlib>
#include <iostream>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/formats/format.hpp"
#include "core/error.hpp"
#include "core/input_files.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

bool wants_color(const ReportOptions& options) {
  if (options.color == "always") return true;
  if (options.color == "never" || is_file(options.output)) return false;
  const char* no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && isatty(STDOUT_FILENO) == 1;
}

}  // namespace

void write_output(const std::string& path, std::string_view content, std::string_view option) {
  if (is_input_file(path)) {
    throw Error(fmt::format("{} {} would overwrite a file that was read", option, quote(path)), "give it another name");
  }
  write_file(path, content);
}

void print_error(const std::string& message, const std::string& hint) {
  std::cerr << "error: " << message << '\n';
  if (!hint.empty()) std::cerr << "hint: " << hint << '\n';
}

void write_report(const Report& report, const ReportOptions& options) {
  const std::string content = format_named(options.format).write(report, Style(wants_color(options)));
  for (const std::string& warning : report.warnings) std::cerr << "warning: " << warning << '\n';
  for (const Error& error : report.errors) print_error(error.what(), error.hint());
  if (is_file(options.output)) {
    write_output(options.output, content);
    return;
  }
  std::cout << content << std::flush;
  if (!std::cout) throw Error("cannot write to the standard output");
}

}  // namespace ddl
