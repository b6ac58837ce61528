#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/manual/command_description.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ddl {

/// What is declared in addition to the parser's own facts.
struct Declarations;

/// An option or argument of a command. It refers to the parser's and lives no longer than the CommandLine.
class Option {
 public:
  Option(CLI::Option& option, Declarations& declarations) : option_(&option), declarations_(&declarations) {}
  // Each adds one property to the option and returns the option.
  Option required() const;
  Option excludes(Option other) const;
  Option needs(Option other) const;
  Option take_all() const;                            ///< may be given several times
  Option one_value_each() const;                      ///< each time with one value
  Option capture_default_str() const;                 ///< help shows the value that it has now
  Option default_str(const std::string& text) const;  ///< help shows this as its default
  Option type_name(const std::string& name) const;
  Option description(const std::string& text) const;
  /// Completions offer these words, and no file.
  Option words(const std::function<std::vector<std::string>()>& words) const;
  /// Completions offer these names of what is bundled, and files.
  Option names_or_file(const std::function<std::vector<std::string>()>& names) const;
  Option file() const;  ///< its value is the name of a file

 private:
  CLI::Option* option_;
  Declarations* declarations_;
};

/// A command, or the program itself. It refers to the parser's and lives no longer than the CommandLine.
class Command {
 public:
  Command(CLI::App& command, Declarations& declarations) : command_(&command), declarations_(&declarations) {}
  [[nodiscard]] Command add_subcommand(const std::string& name, const std::string& description) const;
  /// What its help shows.
  void examples(std::vector<Example> examples) const;
  /// A command of this one must be chosen.
  void require_subcommand() const;
  /// At most one command of this one may be chosen.
  void allow_subcommand() const;
  /// A name with dashes is an option, another one an argument. `into` lives as long as the CommandLine.
  Option add_option(const std::string& name, std::string& into, const std::string& description) const;
  Option add_option(const std::string& name, std::vector<std::string>& into, const std::string& description) const;
  /// An option whose value `read` takes, which may throw Error.
  Option add_option_function(const std::string& name, const std::function<void(const std::string&)>& read,
                             const std::string& description) const;
  /// An option that is given or not and takes no value.
  Option add_switch(const std::string& name, bool& into, const std::string& description) const;
  /// The same, which calls `given` if it is given.
  Option add_switch_function(const std::string& name, const std::function<void()>& given,
                             const std::string& description) const;
  [[nodiscard]] Option get_option(const std::string& name) const;
  /// Called when the command is chosen, once its options are read.
  void callback(const std::function<void()>& call) const;
  /// How often the option of that name was given.
  [[nodiscard]] std::size_t count(const std::string& name) const;
  /// Whether one of its own commands was chosen.
  [[nodiscard]] bool has_chosen_subcommand() const;

 private:
  CLI::App* command_;
  Declarations* declarations_;
};

/// The parser of the program's arguments, which is CLI11's. Its headers take seconds to compile: only what lies behind this
/// one reads them.
class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& name);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  [[nodiscard]] Command program() const;
  void add_version(const std::string& text);
  /// All that was declared, which lives no longer than this.
  [[nodiscard]] CommandDescription describe() const;
  /// Calls the chosen command with what was typed behind the program's name. Gives the text to print where that asks for
  /// help or for the version. Throws Error, in the words of this program, on what cannot be parsed.
  [[nodiscard]] std::optional<std::string> parse(std::vector<std::string> words);

 private:
  std::unique_ptr<CLI::App> program_;
  std::unique_ptr<Declarations> declarations_;
};

}  // namespace ddl
