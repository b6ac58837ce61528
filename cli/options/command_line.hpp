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

/// The properties of options and commands that the parser cannot store.
struct Declarations;

/// An option or argument of a command. An Option refers to the parser's object, and must not outlive the CommandLine.
class Option {
 public:
  Option(CLI::Option& option, Declarations& declarations) : option_(&option), declarations_(&declarations) {}
  // Each of these functions adds one property to the option, and returns the option.
  Option required() const;
  Option excludes(Option other) const;
  Option needs(Option other) const;
  Option take_all() const;                            ///< the option may be given several times
  Option one_value_each() const;                      ///< each occurrence of the option takes one value
  Option capture_default_str() const;                 ///< help shows the option's current value as its default
  Option default_str(const std::string& text) const;  ///< help shows `text` as the option's default
  Option type_name(const std::string& name) const;
  Option description(const std::string& text) const;
  /// Shell completions for the option's value offer `words`, but no files.
  Option words(const std::function<std::vector<std::string>()>& words) const;
  /// Shell completions for the option's value offer the bundled `names`, and files.
  Option names_or_file(const std::function<std::vector<std::string>()>& names) const;
  Option file() const;  ///< the option's value is the name of a file

 private:
  CLI::Option* option_;
  Declarations* declarations_;
};

/// A command, or the program itself. A Command refers to the parser's object, and must not outlive the CommandLine.
class Command {
 public:
  Command(CLI::App& command, Declarations& declarations) : command_(&command), declarations_(&declarations) {}
  [[nodiscard]] Command add_subcommand(const std::string& name, const std::string& description) const;
  /// Sets the examples in the command's help.
  void examples(std::vector<Example> examples) const;
  void require_subcommand() const;
  void allow_subcommand() const;
  /// Adds an option (a name with dashes), or an argument (a name without dashes). `into` must live
  /// as long as the CommandLine. `type`: the name of the value in help; default: see placeholder_of.
  Option add_option(const std::string& name, std::string& into, const std::string& description,
                    const std::string& type = {}) const;
  Option add_option(const std::string& name, std::vector<std::string>& into, const std::string& description,
                    const std::string& type = {}) const;
  /// Adds an option that may be given several times, each time with one value.
  Option add_repeated(const std::string& name, std::vector<std::string>& into, const std::string& description,
                      const std::string& type = {}) const;
  /// Adds an option. Its value is passed to `read`, which may throw Error.
  Option add_option_function(const std::string& name, const std::function<void(const std::string&)>& read,
                             const std::string& description, const std::string& type = {}) const;
  /// Adds an option without a value. `into` becomes true if the option is given.
  Option add_switch(const std::string& name, bool& into, const std::string& description) const;
  /// Adds an option without a value. `given` is called if the option is given.
  Option add_switch_function(const std::string& name, const std::function<void()>& given,
                             const std::string& description) const;
  [[nodiscard]] Option get_option(const std::string& name) const;
  /// Sets the function that runs if the command is chosen, after the command's options are parsed.
  void callback(const std::function<void()>& call) const;
  /// Returns how many times the option was given.
  [[nodiscard]] std::size_t count(const std::string& name) const;
  [[nodiscard]] bool has_chosen_subcommand() const;

 private:
  CLI::App* command_;
  Declarations* declarations_;
};

/// The parser of the program's arguments, which wraps CLI11. CLI11's headers take seconds to compile, so only its
/// implementation includes them.
class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& name);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  [[nodiscard]] Command program() const;
  void add_version(const std::string& text);
  /// Returns all declarations, which must not outlive this object.
  [[nodiscard]] CommandDescription describe() const;
  /// Parses the words after the program's name and calls the chosen command. Returns the text to print if the words request
  /// help or the version. Throws Error with a message of this program if the words cannot be parsed.
  [[nodiscard]] std::optional<std::string> parse(std::vector<std::string> words);

 private:
  std::unique_ptr<CLI::App> program_;
  std::unique_ptr<Declarations> declarations_;
};

}  // namespace ddl
