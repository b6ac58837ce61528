#include <algorithm>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/manual/manual.hpp"
#include "cli/manual/option_groups.hpp"
#include "cli/manual/synonyms.hpp"
#include "cli/manual/topics.hpp"
#include "cli/report/figures.hpp"
#include "tests/catch.hpp"

namespace help_topics_tests {

using namespace ddl;

namespace {

CommandDescription described_program() {
  CommandLine command_line("", "ddl-oracle");
  Request request;
  add_commands(command_line, request);
  return command_line.describe();
}

bool has_option(const CommandDescription& command, const std::string& name) {
  return std::any_of(command.options.begin(), command.options.end(), [&](const OptionDescription& each) {
    return std::find(each.names.begin(), each.names.end(), name) != each.names.end();
  });
}

}  // namespace

TEST_CASE("every option of recommend and explain belongs to a group of the help") {
  const CommandDescription program = described_program();
  for (const char* name : {"recommend", "explain"}) {
    for (const OptionDescription& option : command_named(program, {name}).options) {
      INFO(name << " " << option.names.back());
      CHECK_FALSE(heading_of(option).empty());
    }
  }
}

TEST_CASE("the help of a command with many options shows a fraction of them, and all with --help-all") {
  const CommandDescription program = described_program();
  const CommandDescription& recommend = command_named(program, {"recommend"});
  const std::string usual = help_text(recommend, HelpForm::whole, 100), all = help_text(recommend, HelpForm::all, 100);
  std::size_t shown = 0;
  for (const OptionDescription& option : recommend.options) {
    INFO(option.names.back());
    CHECK(all.find("  " + option.names.front()) != std::string::npos);
    shown += is_usual(option) ? 1U : 0U;
  }
  CHECK(shown <= 20);
  CHECK(shown * 3 < recommend.options.size());
  CHECK(usual.find("--straggler") == std::string::npos);
  for (const OptionGroup& group : option_groups())
    CHECK(all.find("\n" + std::string(group.heading) + ":\n") != std::string::npos);
}

TEST_CASE("every synonym names an option that exists, and is no option itself") {
  const CommandDescription program = described_program();
  for (const Synonym& each : synonyms()) {
    INFO(each.word);
    bool exists = false, is_option = false;
    for_each_command(program, [&](const CommandDescription& command) {
      const bool has = has_option(command, "--" + std::string(each.option));
      exists = exists || has;
      // Other commands may have an option of this name, for which they need no hint.
      const bool plans = command.name == "recommend" || command.name == "explain";
      is_option = is_option || (plans && has && has_option(command, "--" + std::string(each.word)));
    });
    CHECK(exists);
    CHECK_FALSE(is_option);
    CHECK(each.word == plain_word(each.word));
  }
}

TEST_CASE("help finds topics, words that people type, and options that mention a word") {
  const CommandDescription program = described_program();
  for (const HelpTopic& topic : help_topics()) {
    INFO(topic.name);
    const std::string text = help_about(program, topic.name).value_or("");
    CHECK(text == topic.text);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      CHECK(display_width(text.substr(at, end - at)) <= 80);
      at = end + 1;
    }
  }
  CHECK_THAT(help_about(program, "LoRA").value_or(""), ContainsSubstring("--lora"));
  CHECK_THAT(help_about(program, "price").value_or(""), ContainsSubstring("--price"));
  CHECK_THAT(help_about(program, "tokens").value_or(""), ContainsSubstring("--train-tokens"));
  CHECK_FALSE(help_about(program, "zzz").has_value());
}

}  // namespace help_topics_tests
