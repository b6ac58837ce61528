#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/options/parser_fwd.hpp"
#include "cli/report.hpp"

namespace ddl {

/// What the parsed command line asks for: set by the chosen command, run by main.
struct Request {
  std::function<Report()> run;
  ReportOptions report;
  std::string command;  ///< the whole command line, for the record
};

// One file per command: it adds its options to the program and, when chosen, fills in the request.
void add_profile(CLI::App& program, Request& request);
void add_profile_import(CLI::App& profile, Request& request);  // a command of `profile`
void add_profile_merge(CLI::App& profile, Request& request);   // the same
void add_calibrate(CLI::App& program, Request& request);
void add_calibrate_runs(CLI::App& calibrate, Request& request);  // a command of `calibrate`
/// The words of a command line with `calibrate FILE...`, `calibrate --mpi` and `calibrate --runs TABLE` written in full:
/// `calibrate network`, `calibrate live` and `calibrate runs`.
[[nodiscard]] std::vector<std::string> with_calibrate_command(std::vector<std::string> words);
void add_recommend(CLI::App& program, Request& request);
void add_explain(CLI::App& program, Request& request);
void add_check(CLI::App& program, Request& request);
void add_validate(CLI::App& program, Request& request);
void add_models(CLI::App& program, Request& request);
void add_models_import(CLI::App& models, Request& request);  // a command of `models`
void add_machines(CLI::App& program, Request& request);
void add_datasets(CLI::App& program, Request& request);
void add_backends(CLI::App& program, Request& request);

}  // namespace ddl
