#pragma once

#include <string>
#include <vector>

namespace ddl {

/// A command line as one types it, and what it answers.
struct Example {
  std::string command;  ///< with the program's name
  std::string purpose;
};

/// An option, or an argument, as it was declared.
struct OptionDescription {
  std::vector<std::string> names;  ///< with dashes, the long ones last; of an argument its own
  std::string value;               ///< what stands for its value: `FILE`; empty where it takes none
  std::string text;
  std::string default_value;         ///< empty: none, or the text says it
  std::vector<std::string> words{};  ///< values to offer
  bool is_file = false;              ///< a file may be its value
  bool is_required = false, repeats = false;
  std::vector<std::string> not_with{}, needs{};  ///< names of options
};

/// A command, or the program itself, as it was declared: what help, the man page and completions are made of.
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
