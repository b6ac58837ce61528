#include "cli/manual/word_help.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/machine_names.hpp"
#include "calibration/inputs/software_file.hpp"
#include "cli/manual/help_writer.hpp"
#include "cli/manual/manual.hpp"
#include "core/find.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "model_zoo/files/bundled_name.hpp"
#include "model_zoo/files/catalogue.hpp"

namespace ddl {
namespace {

/// Returns a term as it is in tables: `Batch size` is `batch-size`.
std::string plain_term(std::string_view term) {
  std::string plain = plain_word(term);
  std::ranges::replace(plain, ' ', '-');
  return plain;
}

/// Returns the position of a whole word in a text; npos if the text lacks it. A plural contains its singular.
std::size_t find_word(std::string_view text, std::string_view word) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool ends = end == text.size() || !is_letter(text[end]) || text[end] == 's';
    if ((at == 0 || !is_letter(text[at - 1])) && ends) return at;
  }
  return std::string_view::npos;
}

/// Whether a text contains every word of a term, in any order and number.
bool mentions(std::string_view text, std::string_view plain) {
  while (!plain.empty()) {
    const std::size_t end = std::min(plain.find('-'), plain.size());
    std::string_view word = plain.substr(0, end);
    if (word.size() > 3 && word.ends_with('s')) word.remove_suffix(1);
    if (!word.empty() && find_word(text, word) == std::string_view::npos) return false;
    plain.remove_prefix(std::min(end + 1, plain.size()));
  }
  return true;
}

/// Returns what the program has for a term: the answers of concepts, and the hints of synonyms.
std::vector<std::string> answers(const std::string& plain) {
  std::vector<std::string> found;
  for (const Concept& each : concepts()) {
    if (is_spelling(each, plain)) found.emplace_back(each.answer);
  }
  std::vector<std::string_view> hints, words;
  const auto add_hints = [&](const auto& matches) {
    for (const Synonym& each : synonyms()) {
      // Later rows of a word apply to commands that lack the option of the first row.
      if (!matches(each.word) || contains(hints, each.hint) || contains(words, each.word)) continue;
      hints.push_back(each.hint);
      words.push_back(each.word);
      found.push_back(fmt::format("For '{}', {}.", each.word, each.hint));
    }
  };
  add_hints([&](std::string_view word) { return word == plain; });
  // A longer phrase may contain a known one: micro-batch-size-per-gpu.
  if (found.empty() && plain.find('-') != std::string::npos) {
    add_hints([&](std::string_view word) {
      return word.find('-') != std::string_view::npos && plain.find(word) != std::string::npos;
    });
  }
  return found;
}

/// Returns what a bundled name is, and the options that take it.
std::vector<std::string> bundled_names(const std::string& term) {
  std::vector<std::string> found;
  const std::string key = name_key(term);
  for (const CatalogueEntry& each : model_catalogue()) {
    const bool is_alias =
        std::ranges::any_of(each.aliases, [&](const std::string& alias) { return name_key(alias) == key; });
    if (name_key(each.name) != key && !is_alias) continue;
    found.push_back(fmt::format("{0} is a bundled model: --model {0}; 'models show {0}' prints it.", each.name));
  }
  for (const MachineName& each : all_machine_names()) {
    if (name_key(each.name) != key) continue;
    found.push_back(fmt::format("{0} is a bundled machine: --machine {0}; 'machines show {0}' prints it.", each.name));
  }
  for (const std::string& name : software_names()) {
    if (name_key(name) != key) continue;
    found.push_back(fmt::format("{0} is bundled software: --software {0}; 'software show {0}' prints it.", name));
  }
  return found;
}

struct MentionedOption {
  std::string name, text;
  std::vector<std::string> commands{};
  int rank = 0;  ///< 0: the term is the option's name, 1: in the name, 2: in the first clause, 3: elsewhere in the text
};

/// Returns the options of the program's commands that mention a term, the closest first. An option of several commands is
/// listed once, with the text of the first.
std::vector<MentionedOption> mentioned_options(const CommandDescription& program, const std::string& plain) {
  std::vector<MentionedOption> found;
  for_each_command(program, [&](const CommandDescription& command) {
    for (const OptionDescription& option : command.options) {
      const auto is_name = [&](const std::string& name) { return plain_word(name) == plain; };
      const auto has_term = [&](const std::string& name) { return mentions(plain_word(name), plain); };
      const std::string clause(first_clause(option.text));
      const int rank = std::ranges::any_of(option.names, is_name)    ? 0
                       : std::ranges::any_of(option.names, has_term) ? 1
                       : mentions(plain_word(clause), plain)         ? 2
                       : mentions(plain_word(option.text), plain)    ? 3
                                                                     : 4;
      if (rank > 3) continue;
      const auto long_name =
          std::ranges::find_if(option.names, [](const std::string& name) { return name.starts_with("--"); });
      const std::string& name = long_name == option.names.end() ? option.names.front() : *long_name;
      const std::string path = command.path == program.path ? command.path : command.path.substr(program.path.size() + 1);
      const auto known = std::ranges::find_if(found, [&](const MentionedOption& each) { return each.name == name; });
      if (known == found.end()) {
        found.push_back({name, clause, {path}, rank});
      } else {
        known->commands.push_back(path);
        known->rank = std::min(known->rank, rank);
      }
    }
  });
  std::ranges::stable_sort(found, [](const MentionedOption& a, const MentionedOption& b) { return a.rank < b.rank; });
  return found;
}

std::string listed(const std::vector<std::string>& commands) {
  constexpr std::size_t most = 3;
  if (commands.size() <= most) return fmt::format("{}", fmt::join(commands, ", "));
  return fmt::format("{}, {} and {} other commands", commands[0], commands[1], commands.size() - 2);
}

/// Whether a page explains a term, such as dp: the term is in the first column of a list, after two spaces.
bool explains(std::string_view text, const std::string& plain) {
  return text.find("  " + plain + " ") != std::string_view::npos;
}

}  // namespace

std::optional<std::string> help_about(const CommandDescription& program, std::string_view term, std::size_t width) {
  const std::string plain = plain_term(term);
  if (plain.empty()) return std::nullopt;
  for (const HelpTopic& topic : help_topics()) {
    if (topic.name == plain) return std::string(topic.text);
  }
  std::vector<std::string> paragraphs = answers(plain);
  const std::vector<std::string> names = bundled_names(std::string(term));
  paragraphs.insert(paragraphs.end(), names.begin(), names.end());
  const std::vector<MentionedOption> options = mentioned_options(program, plain);
  if (paragraphs.empty() && options.empty()) {
    for (const HelpTopic& topic : help_topics()) {
      if (explains(topic.text, plain)) return std::string(topic.text);
    }
    return std::nullopt;
  }
  HelpWriter help(HelpForm::whole, width);
  for (const std::string& each : paragraphs) help.paragraph(each);
  if (options.empty()) return help.text();
  constexpr std::size_t most_options = 10;
  help.line(fmt::format("{}Options that mention '{}':", paragraphs.empty() ? "" : "\n", term));
  for (std::size_t i = 0; i < std::min(options.size(), most_options); ++i)
    help.row(options[i].name, fmt::format("{} ({})", options[i].text, listed(options[i].commands)));
  if (options.size() > most_options) help.line(fmt::format("  and {} others", options.size() - most_options));
  return help.text();
}

Error unknown_term(const CommandDescription& program, const std::string& term) {
  std::vector<std::string> known;
  for (const CommandDescription& each : program.commands) known.push_back(each.name);
  for (const HelpTopic& topic : help_topics()) known.emplace_back(topic.name);
  for (const Synonym& each : synonyms()) known.emplace_back(each.word);
  for (const Concept& each : concepts()) {
    std::string_view rest = each.words;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      known.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  const std::optional<std::string> near = nearest(plain_term(term), known);
  return Error(fmt::format("unknown command or term {}", quote(term)),
               near ? fmt::format("did you mean '{}'?", *near)
                    : fmt::format("'{0} help' lists commands and topics; a term is a word of the field, such as lora, "
                                  "throughput or nccl",
                                  program.path));
}

}  // namespace ddl
