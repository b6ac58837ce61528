#pragma once

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/exit_status.hpp"
#include "cli/style.hpp"

namespace ddl {

/// What a command found out, able to be written in every format. Nothing is printed before all of it is computed.
struct Report {
  std::function<std::string(const Style&)> text;
  std::function<nlohmann::ordered_json()> json;
  std::function<std::string()> csv;
  ExitStatus status = ExitStatus::ok;
};

enum class Format { text, json, csv };

/// How and where to write a report; the same for all commands.
struct ReportOptions {
  Format format = Format::text;
  std::string output;          ///< file; empty: stdout
  std::string color = "auto";  ///< auto, always, never
};

/// Writes the report to stdout, or whole or not at all to the file.
void write_report(const Report& report, const ReportOptions& options);

}  // namespace ddl
