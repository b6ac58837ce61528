#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/exit_status.hpp"
#include "cli/formats/style.hpp"
#include "core/error.hpp"

namespace ddl {

/// What a command found out, able to be written in every format. Nothing is printed before all of it is computed.
struct Report {
  std::function<std::string(const Style&)> text;
  std::function<nlohmann::ordered_json()> json;
  std::function<std::string()> csv;
  std::function<std::string()> junit{};   ///< of a command whose answer is a row of verdicts
  std::function<std::string()> github{};  ///< the same
  std::vector<std::string> warnings{};    ///< beside it, each one line or several
  std::vector<Error> errors{};            ///< parts of the question that have no answer, where others have
  ExitStatus status = ExitStatus::ok;
};

enum class Format { text, json, csv, junit, github };

/// How and where to write a report; the same for all commands.
struct ReportOptions {
  Format format = Format::text;
  std::string output;          ///< file; empty or `-`: stdout
  std::string color = "auto";  ///< auto, always, never
};

/// Whether `--output` names a file: `-` is the standard output.
[[nodiscard]] inline bool is_file(const std::string& output) { return !output.empty() && output != "-"; }

/// Writes whole or not at all to the file of `option`. Throws Error where that is a file that was read.
void write_output(const std::string& path, std::string_view content, std::string_view option = "--output");

/// `error: …` and `hint: …` to stderr.
void print_error(const std::string& message, const std::string& hint);

/// Writes the report to stdout, or whole or not at all to the file; what it warns of and could not answer to
/// stderr.
void write_report(const Report& report, const ReportOptions& options);

}  // namespace ddl
