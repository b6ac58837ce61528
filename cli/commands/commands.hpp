#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/options/command_line.hpp"
#include "cli/report/report.hpp"

namespace ddl {

/// The action of the parsed command line: set by the chosen command, run by main.
struct Request {
  std::function<Report()> run;
  ReportOptions report;
  std::string command;  ///< the whole command line, for the report
};

// Each command has its own file, which defines one of these functions. The function adds the command's options to the
// program, and fills in the request if the user chose the command.
void add_profile(const Command& program, Request& request);
void add_profile_import(const Command& profile, Request& request);   // a command of `profile`
void add_profile_merge(const Command& profile, Request& request);    // a command of `profile`
void add_profile_compare(const Command& profile, Request& request);  // a command of `profile`
void add_calibrate(const Command& program, Request& request);
void add_calibrate_runs(const Command& calibrate, Request& request);       // a command of `calibrate`
void add_calibrate_kernels(const Command& calibrate, Request& request);    // a command of `calibrate`
void add_calibrate_intervals(const Command& calibrate, Request& request);  // a command of `calibrate`
/// The words of a command line with `calibrate FILE...`, `calibrate --mpi` and `calibrate --runs TABLE` written in full:
/// `calibrate network`, `calibrate live` and `calibrate runs`.
[[nodiscard]] std::vector<std::string> with_calibrate_command(std::vector<std::string> words);
void add_recommend(const Command& program, Request& request);
void add_explain(const Command& program, Request& request);
void add_check(const Command& program, Request& request);
void add_predict(const Command& program, Request& request);
void add_predict_exchange(const Command& predict, Request& request);  // a command of `predict`
void add_predict_kernels(const Command& predict, Request& request);   // a command of `predict`
void add_validate(const Command& program, Request& request);
void add_validate_kernels(const Command& validate_command, Request& request);  // a command of `validate`
void add_models(const Command& program, Request& request);
void add_models_import(const Command& models, Request& request);  // a command of `models`
void add_machines(const Command& program, Request& request);
void add_machines_new(const Command& machines, Request& request);  // a command of `machines`
void add_datasets(const Command& program, Request& request);
void add_serve(const Command& program, Request& request);
void add_software(const Command& program, Request& request);
void add_backends(const Command& program, Request& request);
// The command line itself answers help. The functions below print the declarations of the command line, so they must not
// outlive it.
void add_help(const Command& program);
void add_completion(CommandLine& command_line, Request& request);
void add_man(CommandLine& command_line, Request& request);
/// Adds all commands, and examples of how to use the program.
void add_commands(CommandLine& command_line, Request& request);

}  // namespace ddl
