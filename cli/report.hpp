#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/exit_status.hpp"
#include "cli/style.hpp"

namespace ddl {

/// What a command found out, able to be written in every format. Nothing is printed before all of it is computed.
struct Report {
  std::function<std::string(const Style&)> text;
  std::function<nlohmann::ordered_json()> json;
  std::function<std::string()> csv;
  std::vector<std::string> warnings{};  ///< beside it, each one line or several
  ExitStatus status = ExitStatus::ok;
};

enum class Format { text, json, csv };

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

/// Writes the report to stdout, or whole or not at all to the file; what it warns of to stderr.
void write_report(const Report& report, const ReportOptions& options);

}  // namespace ddl
