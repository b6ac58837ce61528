#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/options/command_line.hpp"
#include "cli/report/report.hpp"

namespace ddl {

/// The action that the command line requests. The chosen command sets the action, and main runs it.
struct Request {
  std::function<Report()> run;
  ReportOptions report;
  std::string command;  ///< the whole command line, for the report

  /// Requests `action` if the user chooses the command `of`.
  void on_choice(const Command& of, std::function<Report()> action) {
    of.callback([this, action = std::move(action)] { run = action; });
  }
};

// Each of the following functions is defined in the file of its command. The function adds the
// command's options to the program, and fills in the request if the user chose the command.
void add_profile(const Command& program, Request& request);
void add_profile_import(const Command& profile, Request& request);   // a subcommand of `profile`
void add_profile_merge(const Command& profile, Request& request);    // a subcommand of `profile`
void add_profile_compare(const Command& profile, Request& request);  // a subcommand of `profile`
void add_calibrate(const Command& program, Request& request);
void add_calibrate_runs(const Command& calibrate, Request& request);       // a subcommand of `calibrate`
void add_calibrate_kernels(const Command& calibrate, Request& request);    // a subcommand of `calibrate`
void add_calibrate_intervals(const Command& calibrate, Request& request);  // a subcommand of `calibrate`
/// Replaces a short form of `calibrate` in a command line by its subcommand: `calibrate FILE...` by
/// `calibrate network`, `calibrate --mpi` by `calibrate live`, `calibrate --runs TABLE` by
/// `calibrate runs`. Returns the words of the new command line.
[[nodiscard]] std::vector<std::string> with_calibrate_command(std::vector<std::string> words);
void add_recommend(const Command& program, Request& request);
void add_explain(const Command& program, Request& request);
void add_check(const Command& program, Request& request);
void add_predict(const Command& program, Request& request);
void add_predict_exchange(const Command& predict, Request& request);  // a subcommand of `predict`
void add_predict_kernels(const Command& predict, Request& request);   // a subcommand of `predict`
void add_predict_mixed(const Command& predict, Request& request);     // a subcommand of `predict`
void add_validate(const Command& program, Request& request);
void add_validate_kernels(const Command& validate_command, Request& request);  // a subcommand of `validate`
void add_validate_memory(const Command& validate_command, Request& request);   // a subcommand of `validate`
void add_models(const Command& program, Request& request);
void add_models_list(const Command& models, Request& request);    // a subcommand of `models`
void add_models_import(const Command& models, Request& request);  // a subcommand of `models`
void add_machines(const Command& program, Request& request);
void add_machines_new(const Command& machines, Request& request);  // a subcommand of `machines`
void add_datasets(const Command& program, Request& request);
void add_serve(const Command& program, Request& request);
void add_software(const Command& program, Request& request);
void add_backends(const Command& program, Request& request);
// The CommandLine prints help by itself. `completion` and `man` print the declarations in the
// CommandLine, so these requests must not outlive the CommandLine.
void add_help(const Command& program);
void add_completion(CommandLine& command_line, Request& request);
void add_man(CommandLine& command_line, Request& request);
/// Adds all commands, and the examples in the help of the whole program.
void add_commands(CommandLine& command_line, Request& request);

}  // namespace ddl
