#include <algorithm>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/manual/manual.hpp"
#include "cli/manual/option_groups.hpp"
#include "cli/manual/word_help.hpp"
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
  CHECK(shown <= 21);
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
    const std::string text = help_about(program, topic.name, 80).value_or("");
    CHECK(text == topic.text);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      CHECK(display_width(text.substr(at, end - at)) <= 80);
      at = end + 1;
    }
  }
  CHECK_THAT(help_about(program, "LoRA", 80).value_or(""), ContainsSubstring("--lora"));
  CHECK_THAT(help_about(program, "price", 80).value_or(""), ContainsSubstring("--price"));
  CHECK_THAT(help_about(program, "tokens", 80).value_or(""), ContainsSubstring("--train-tokens"));
  CHECK_FALSE(help_about(program, "zzz", 80).has_value());
}

TEST_CASE("help knows the terms of the field, as one word or as several") {
  const CommandDescription program = described_program();
  for (const char* term : {"lora",
                           "fsdp",
                           "oom",
                           "checkpointing",
                           "throughput",
                           "tokens per second",
                           "cost",
                           "nccl",
                           "slurm",
                           "batch size",
                           "MFU",
                           "gradient accumulation",
                           "zero3",
                           "mixed precision",
                           "moe",
                           "flash attention",
                           "inference",
                           "kv cache",
                           "data loading",
                           "sequence length",
                           "context length",
                           "pipeline bubble",
                           "overlap",
                           "activation memory",
                           "learning rate",
                           "h100",
                           "llama3-8b",
                           "deepspeed",
                           "aws",
                           "scaling",
                           "topology",
                           "infiniband",
                           "wall clock",
                           "cuda graphs",
                           "trace",
                           "micro-batch size per GPU",
                           "halo",
                           "spatial parallelism",
                           "filter parallelism",
                           "schedule",
                           "what-if",
                           "yaml",
                           "own cluster",
                           "measured runs",
                           "fine-tuning"}) {
    INFO(term);
    const std::string text = help_about(program, term, 80).value_or("");
    CHECK_FALSE(text.empty());
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      CHECK(display_width(text.substr(at, end - at)) <= 80);
      at = end + 1;
    }
  }
  CHECK_THAT(help_about(program, "nccl", 80).value_or(""), ContainsSubstring("(calibrate live)"));
  CHECK_THAT(help_about(program, "h100", 80).value_or(""), ContainsSubstring("--machine h100"));
}

TEST_CASE("the options that answers about terms name exist, and a term has one answer") {
  const CommandDescription program = described_program();
  std::vector<std::string> spellings;
  for (const Concept& each : concepts()) {
    const std::string answer(each.answer);
    for (std::size_t at = answer.find("--"); at != std::string::npos; at = answer.find("--", at + 2)) {
      const std::size_t end = std::min(answer.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at), answer.size());
      INFO(answer.substr(at, end - at));
      bool exists = false;
      for_each_command(program, [&](const CommandDescription& command) {
        exists = exists || has_option(command, answer.substr(at, end - at));
      });
      CHECK(exists);
    }
    // Answers are hints, too, which begin with a command, an option, a model or a number, and not with a sentence.
    CHECK(
        (answer.starts_with('\'') || answer.starts_with("--") || answer.starts_with("MODEL@") || answer.starts_with("0:")));
    const std::string words(each.words);
    for (std::size_t at = 0; at < words.size();) {
      const std::size_t end = std::min(words.find(' ', at), words.size());
      spellings.push_back(words.substr(at, end - at));
      at = end + 1;
    }
  }
  std::sort(spellings.begin(), spellings.end());
  const auto twice = std::adjacent_find(spellings.begin(), spellings.end());
  INFO((twice == spellings.end() ? "" : *twice));
  CHECK(twice == spellings.end());
}

TEST_CASE("the help names the kind of every option's value, and lists options in the order of their group") {
  const CommandDescription program = described_program();
  for_each_command(program, [&](const CommandDescription& command) {
    for (const OptionDescription& option : command.options) {
      INFO(command.path << " " << option.names.back());
      CHECK(option.value != "TEXT");
    }
  });
  const std::string all = help_text(command_named(program, {"recommend"}), HelpForm::all, 100);
  const std::size_t plan = all.find("\n  --plan "), strategy = all.find("\n  --strategy, "), zero = all.find("\n  --zero ");
  CHECK(strategy < plan);
  CHECK(plan < zero);
  CHECK(zero != std::string::npos);
  CHECK(all.find("--older-framework...") == std::string::npos);
}

}  // namespace help_topics_tests
