#include <string_view>

#include <fmt/format.h>

#include "cli/documents/check.hpp"

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

std::string annotation(std::string_view kind, const std::string& file, int line, int column, std::string_view title,
                       std::string_view message) {
  return fmt::format("::{} file={},line={},col={},title={}::{}\n", kind, escaped(file, true), line, column,
                     escaped(title, true), escaped(message, false));
}

std::string_view kind_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::fits:
      return "notice";
    case Verdict::at_risk:
      return "warning";
    case Verdict::does_not_fit:
      return "error";
  }
  return "error";
}

}  // namespace

std::string checks_github(const std::vector<JobCheck>& checks) {
  std::string out;
  for (const JobCheck& check : checks) {
    if (const auto& problem = check.problem) {
      const std::string hint = problem->hint.empty() ? std::string() : "\nhint: " + problem->hint;
      out += annotation("error", check.file, problem->line, problem->column, "not judged", problem->message + hint);
      continue;
    }
    const Verdict verdict = check.fitting.verdict;
    std::string message = need_text(check) + "; " + largest_item_text(check);
    message += "\nlargest batch: " + largest_batch_text(check) + "\nfewest GPUs: " + fewest_gpus_text(check);
    for (const Remedy& remedy : check.remedies) {
      message += fmt::format("\n{}: {}", to_string(remedy.fitting.verdict), remedy_text(check, remedy));
    }
    out += annotation(kind_of(verdict), check.file, check.line, check.column, to_string(verdict), message);
  }
  return out;
}

}  // namespace ddl
