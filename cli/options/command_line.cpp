#include "cli/options/command_line.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include <CLI/CLI.hpp>

#include "cli/options/usage_error.hpp"
#include "core/error.hpp"

namespace ddl {

Option Option::required() const { return Option(*option_->required()); }
Option Option::excludes(Option other) const { return Option(*option_->excludes(other.option_)); }
Option Option::needs(Option other) const { return Option(*option_->needs(other.option_)); }
Option Option::take_all() const { return Option(*option_->take_all()); }
Option Option::one_value_each() const { return Option(*option_->allow_extra_args(false)); }
Option Option::capture_default_str() const { return Option(*option_->capture_default_str()); }
Option Option::default_str(const std::string& text) const { return Option(*option_->default_str(text)); }
Option Option::type_name(const std::string& name) const { return Option(*option_->type_name(name)); }
Option Option::description(const std::string& text) const { return Option(*option_->description(text)); }

Command Command::add_subcommand(const std::string& name, const std::string& description) const {
  return Command(*command_->add_subcommand(name, description));
}

void Command::require_subcommand() const { command_->require_subcommand(1); }

void Command::allow_subcommand() const { command_->require_subcommand(0, 1); }

Option Command::add_option(const std::string& name, std::string& into, const std::string& description) const {
  return Option(*command_->add_option(name, into, description));
}

Option Command::add_option(const std::string& name, std::vector<std::string>& into, const std::string& description) const {
  return Option(*command_->add_option(name, into, description));
}

Option Command::add_option_function(const std::string& name, const std::function<void(const std::string&)>& read,
                                    const std::string& description) const {
  return Option(*command_->add_option_function<std::string>(name, read, description));
}

Option Command::add_switch(const std::string& name, bool& into, const std::string& description) const {
  return Option(*command_->add_flag(name, into, description)->disable_flag_override());
}

Option Command::get_option(const std::string& name) const { return Option(*command_->get_option(name)); }

void Command::callback(const std::function<void()>& call) const { command_->callback(call); }

std::size_t Command::count(const std::string& name) const { return command_->count(name); }

bool Command::has_chosen_subcommand() const { return !command_->get_subcommands().empty(); }

CommandLine::CommandLine(const std::string& description, const std::string& name)
    : program_(std::make_unique<CLI::App>(description, name)) {
  program_->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
}

CommandLine::~CommandLine() = default;

Command CommandLine::program() const { return Command(*program_); }

void CommandLine::add_version(const std::string& text) {
  program_->set_version_flag("--version", text, "version, commit and back ends");
}

std::optional<std::string> CommandLine::parse(std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());  // as the parser takes them
  try {
    program_->parse(std::move(words));
  } catch (const CLI::Success& asked_for_help) {
    std::ostringstream text;
    program_->exit(asked_for_help, text, text);
    return text.str();
  } catch (const CLI::ParseError& error) {
    throw usage_error(*program_, error);
  } catch (const Error&) {
    // What is wrong with a value may be that it is none.
    refuse_missing_values(*program_);
    throw;
  }
  refuse_missing_values(*program_);
  return std::nullopt;
}

}  // namespace ddl
