#pragma once

#include <string>
#include <vector>

namespace ddl {

/// An example command line, and a description of its output.
struct Example {
  std::string command;  ///< with the program's name
  std::string purpose;
};

/// The declaration of an option, or of an argument.
struct OptionDescription {
  std::vector<std::string> names;  ///< names of an option with dashes, long names last; for an argument, its name
  std::string value;               ///< placeholder of its value: `FILE`; empty for a flag
  std::string text;
  std::string default_value;         ///< empty if there is no default, or if `text` states the default
  std::vector<std::string> words{};  ///< choices, for completion
  bool is_file = false;              ///< whether the option's value may be a file
  bool is_required = false, repeats = false;
  std::vector<std::string> not_with{}, needs{};  ///< names of options that this option excludes or needs
};

/// The declaration of a command, or of the program itself: the source of help, the man page and completions.
struct CommandDescription {
  std::string name;  ///< `recommend`
  std::string path;  ///< `ddl-oracle recommend`
  std::string text;
  bool needs_command = false;
  std::vector<OptionDescription> arguments{}, options{};
  std::vector<Example> examples{};
  std::vector<CommandDescription> commands{};
};

}  // namespace ddl
