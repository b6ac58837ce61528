#include "cli/report/report.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/report/formats/format.hpp"
#include "cli/report/shell_words.hpp"
#include "core/error.hpp"
#include "core/input_files.hpp"
#include "core/source_text.hpp"
#include "core/write_file.hpp"

namespace ddl {
namespace {

bool wants_color(const ReportOptions& options) {
  if (options.color == "always") return true;
  if (options.color == "never" || is_file(options.output)) return false;
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool is_dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return (no_color == nullptr || *no_color == '\0') && !is_dumb && isatty(STDOUT_FILENO) == 1;
}

Page page_for(const ReportOptions& options) {
  Page page = page_of_output(is_file(options.output));
  page.wide = options.wide;
  page.ascii = page.ascii || options.ascii;
  return page;
}

/// Prints a line to stderr in one piece, because several ranks may write at once.
void say(const std::string& text) { std::cerr << visible_lines(defused(text)) + "\n"; }

}  // namespace

Report Report::then(const std::vector<std::string>& words) && {
  next.push_back(shell_words(words));
  return std::move(*this);
}

void refuse_existing(const std::string& output, const std::string& hint) {
  std::error_code problem;
  if (is_file(output) && std::filesystem::is_regular_file(output, problem))
    throw Error(fmt::format("{} exists already", quote_path(output)), hint);
}

void write_output(const std::string& path, std::string_view content, std::string_view option) {
  if (is_input_file(path)) {
    throw Error(fmt::format("{} {} would overwrite an input file", option, quote_path(path)), "use another name");
  }
  write_over(path, content);
}

Written write_over(const std::string& path, std::string_view content, const std::function<void(int)>& made) {
  struct stat status {};
  const bool is_regular = ::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
  const Written written = write_file(path, content, made);
  if (written == Written::in_place && is_regular) {
    print_warning(
        fmt::format("{} cannot be replaced, and was written in place: a reader may have seen half of it", quote_path(path)));
  }
  return written;
}

std::string defused(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    std::string line(text.substr(0, end));
    // Skips spaces. The runner of GitHub Actions trims all Unicode spaces before it looks for commands.
    std::size_t at = 0;
    for (bool blank = true; blank;) {
      blank = false;
      for (const std::string_view one :
           {" ",      "\t",     "\v",     "\f",     "\u0085", "\u00A0", "\u1680", "\u2000", "\u2001",
            "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200A",
            "\u200B", "\u2028", "\u2029", "\u202F", "\u205F", "\u3000", "\uFEFF"}) {
        if (!std::string_view(line).substr(at).starts_with(one)) continue;
        at += one.size();
        blank = true;
      }
    }
    // If possible, `|` replaces a space, so that a caret in the next line points at the same column.
    if (std::string_view(line).substr(at).starts_with("::")) {
      if (at > 0 && line[at - 1] == ' ') {
        line[at - 1] = '|';
      } else {
        line.insert(at, "|");
      }
    }
    for (std::size_t old = line.find("##["); old != std::string::npos; old = line.find("##[", old)) line[old + 2] = '(';
    out += line;
    if (end == text.size()) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

void print_warnings(std::vector<std::string> warnings) {
  std::vector<std::pair<std::string, int>> counted;
  for (std::string& warning : warnings) {
    const auto known = std::ranges::find_if(counted, [&](const auto& each) { return each.first == warning; });
    if (known == counted.end()) {
      counted.emplace_back(std::move(warning), 1);
    } else {
      ++known->second;
    }
  }
  for (const auto& [warning, count] : counted)
    print_warning(count == 1 ? warning : fmt::format("{} ({} times)", warning, count));
}

void print_warning(const std::string& warning) { say("warning: " + warning); }

void print_error(const std::string& message, const std::string& hint) {
  say("error: " + message);
  if (!hint.empty()) say("hint: " + hint);
}

void write_report(const Report& report, const ReportOptions& options) {
  const std::string content = format_named(options.format).write(report, Style(wants_color(options), page_for(options)));
  if (!options.quiet) print_warnings(report.warnings);
  for (const Error& error : report.errors) print_error(error.what(), error.hint());
  // Without an answer, no empty file is written, because it would look like an answer.
  if (content.empty() && report.status == ExitStatus::could_not_answer) return;
  if (is_file(options.output)) {
    write_output(options.output, content);
    return;
  }
  std::cout << content;
  if (options.format == "text" && isatty(STDOUT_FILENO) == 1) {
    for (const std::string& command : report.next) std::cout << "next: " << command << '\n';
  }
  std::cout << std::flush;
  if (!std::cout) throw Error("cannot write to the standard output");
}

}  // namespace ddl
