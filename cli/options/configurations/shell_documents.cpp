// This file follows the files that scripts write: here-documents, and templates whose placeholders sed replaces.

#include <algorithm>
#include <utility>

#include "cli/options/configurations/shell_reader.hpp"
#include "core/find.hpp"

namespace ddl {
namespace {

constexpr std::size_t most_document_bytes = std::size_t{1} << 20U;

/// A command of sed that replaces a text: `s/FROM/TO/g`.
struct Substitution {
  std::string from;
  PlacedText to;
  bool is_of_all = false;  ///< whether all occurrences in a line are replaced, instead of the first
};

/// Reads one part of a substitution, and the delimiter after it. Returns nothing for a part with one of the characters
/// `special`, which makes it a pattern instead of a text.
std::optional<PlacedText> literal_part(const PlacedText& program, std::size_t& at, char delimiter,
                                       std::string_view special) {
  PlacedText part{.start = program.origin()};
  for (; at < program.text.size(); ++at) {
    const bool is_known = program.origins[at].certainty == Certainty::known;
    char c = program.text[at];
    if (is_known && c == delimiter) {
      ++at;
      return part;
    }
    const bool is_end = at + 1 < program.text.size() && program.text[at + 1] == delimiter;
    if (is_known && c == '\\' && at + 1 < program.text.size()) {
      c = program.text[++at];
      if (goes_on_in_shell_name(c) || std::string_view("{}()+?|<>").find(c) != std::string_view::npos) return std::nullopt;
    } else if (is_known && (special.find(c) != std::string_view::npos || (c == '$' && is_end))) {
      return std::nullopt;
    }
    part.add(c, program.origins[at]);
  }
  return std::nullopt;
}

/// Reads the commands of sed in one word: `s/A/B/; s|C|D|g`. Returns nothing if one of them replaces a pattern, or does
/// something else.
std::optional<std::vector<Substitution>> substitutions_of(const PlacedText& program, bool is_extended) {
  std::vector<Substitution> all;
  const std::string& text = program.text;
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && (is_shell_blank(text[at]) || text[at] == ';' || text[at] == '\n')) ++at;
    if (at >= text.size()) return all;
    if (text[at] != 's' || at + 1 >= text.size()) return std::nullopt;
    const char delimiter = text[at + 1];
    at += 2;
    const auto from = literal_part(program, at, delimiter, is_extended ? ".*[^+?(){}|" : ".*[^");
    if (!from || from->text.empty() || !from->is_known()) return std::nullopt;
    auto to = literal_part(program, at, delimiter, "&");
    if (!to) return std::nullopt;
    const bool is_of_all = at < text.size() && text[at] == 'g';
    if (is_of_all) ++at;
    if (at < text.size() && text[at] != ';' && text[at] != '\n' && !is_shell_blank(text[at])) return std::nullopt;
    all.push_back({.from = from->text, .to = std::move(*to), .is_of_all = is_of_all});
  }
}

std::optional<PlacedText> replaced(const PlacedText& text, const Substitution& one) {
  PlacedText all{.start = text.start};
  bool is_done = false;
  for (std::size_t at = 0; at < text.text.size();) {
    if (all.text.size() > most_document_bytes) return std::nullopt;
    if (!is_done && text.text.compare(at, one.from.size(), one.from) == 0) {
      all.add(one.to);
      at += one.from.size();
      is_done = !one.is_of_all;
      continue;
    }
    if (text.text[at] == '\n') is_done = false;
    all.add(text.text[at], text.origins[at]);
    ++at;
  }
  return all;
}

/// Returns the text of a written file. A value that the script does not set, or that differs among branches, becomes `auto`:
/// tools take such a value from their arguments. A part that only some of the branches write is left out.
std::string settled(const PlacedText& text) {
  constexpr std::string_view before_values = ":=[,-", behind_values = " \t\r\n,]}";
  const auto is_uncertain = [&](std::size_t at) {
    const Certainty certainty = text.origins[at].certainty;
    return certainty == Certainty::outside || certainty == Certainty::of_branches;
  };
  std::string all;
  for (std::size_t at = 0; at < text.text.size(); ++at) {
    if (text.origins[at].certainty == Certainty::optional) continue;
    if (!is_uncertain(at)) {
      all += text.text[at];
      continue;
    }
    std::size_t end = at;
    while (end < text.text.size() && is_uncertain(end)) ++end;
    // The value begins after a colon or a comma, or it is in quotes.
    const std::size_t last = all.find_last_not_of(" \t");
    const char before = last == std::string::npos ? '\n' : all[last],
               behind = end < text.text.size() ? text.text[end] : '\n';
    const bool is_quoted = !all.empty() && all.back() == '"' && behind == '"';
    const bool is_whole = is_quoted || (before_values.find(before) != std::string_view::npos && behind != '"' &&
                                        behind_values.find(behind) != std::string_view::npos);
    if (!is_whole) {
      all.append(text.text, at, end - at);
    } else {
      all += is_quoted ? "auto" : "\"auto\"";
    }
    at = end - 1;
  }
  return all;
}

}  // namespace

const ShellDocument* ShellReader::document_named(const std::string& name) const {
  const std::vector<ShellDocument>& all = state_.script.documents;
  return find_where(all, [&](const ShellDocument& one) { return one.name == name; });
}

/// Returns the text of a file that the script has written, or of a configuration next to the script.
std::optional<PlacedText> ShellReader::text_of_file(const PlacedText& name) const {
  if (const ShellDocument* document = document_named(name.text))
    return document->differs ? std::nullopt : std::optional(document->written);
  std::optional<std::string> text;
  if (state_.inner_bytes > most_inner_bytes) return std::nullopt;
  if (name.is_known() && inputs_.load_configuration) text = inputs_.load_configuration(name.text);
  if (!text || text->size() > most_document_bytes) return std::nullopt;
  const std::size_t size = text->size();
  state_.inner_bytes += size;
  return PlacedText{
      .text = std::move(*text), .origins = std::vector<ByteOrigin>(size, name.origin()), .start = name.origin()};
}

/// Returns the text that sed writes; empty if it is unknown. `edited`: the name of the file that `sed -i` changes.
std::optional<PlacedText> ShellReader::output_of_sed(const Simple& simple, std::string& edited) const {
  std::vector<PlacedText> programs;
  const PlacedText* file = nullptr;
  bool is_extended = false, is_in_place = false, has_programs = false;
  for (std::size_t i = 1; i < simple.words.size(); ++i) {
    const std::string& word = simple.words[i].text;
    if ((word == "-e" || word == "--expression") && i + 1 < simple.words.size()) {
      has_programs = true;
      programs.push_back(simple.words[++i]);
    } else if (word == "-E" || word == "-r") {
      is_extended = true;
    } else if (word.starts_with("-i")) {
      is_in_place = true;
    } else if (word.starts_with('-') || file != nullptr) {
      return std::nullopt;
    } else if (!has_programs) {
      has_programs = true;
      programs.push_back(simple.words[i]);
    } else {
      file = &simple.words[i];
    }
  }
  std::optional<PlacedText> text = file != nullptr ? text_of_file(*file) : simple.document ? simple.document : own_.input;
  for (const PlacedText& program : programs) {
    const auto all = substitutions_of(program, is_extended);
    if (!all) return std::nullopt;
    for (const Substitution& one : *all) {
      if (!text || state_.inner_bytes > most_inner_bytes) return std::nullopt;
      state_.inner_bytes += text->text.size();
      text = replaced(*text, one);
    }
  }
  if (is_in_place && file != nullptr) edited = file->text;
  return text;
}

/// Stores the text of a file that the script writes by `cat`, `tee`, `echo` or `sed`. If branches that may run write
/// different texts, the text is unknown.
void ShellReader::write_document(const Simple& simple, ScriptRun run) {
  constexpr std::size_t most_documents = 20;
  const std::vector<PlacedText>& words = simple.words;
  const std::string& name = words.front().text;
  std::string target = simple.written_to;
  if (name == "cat" || name == "tee") {
    own_.written = simple.document ? simple.document : own_.input;
    if (name == "cat" && words.size() == 2 && !simple.document) own_.written = text_of_file(words[1]);
    if (name == "tee" && words.size() == 2) target = words[1].text;
  } else if (name == "echo" && words.size() == 2) {
    own_.written = words[1];
  } else if (name == "sed") {
    own_.written = output_of_sed(simple, target);
  }
  if (!own_.written || target.empty() || state_.inner_bytes > most_inner_bytes) return;
  PlacedText text = *own_.written;
  const ShellDocument* const before = simple.appends ? document_named(target) : nullptr;
  const bool differed = before != nullptr && before->differs;
  if (before != nullptr) {
    text = before->written;
    text.add('\n', own_.written->origin());
    text.add(*own_.written);
    if (text.text.size() > most_document_bytes) return;
  }
  state_.inner_bytes += text.text.size();
  ShellDocument document{.name = std::move(target), .text = settled(text), .written = std::move(text), .differs = differed};
  std::vector<ShellDocument>& all = state_.script.documents;
  const auto same = std::ranges::find_if(all, [&](const ShellDocument& one) { return one.name == document.name; });
  if (same == all.end()) {
    if (all.size() < most_documents) all.push_back(std::move(document));
  } else if (run == ScriptRun::maybe && (document.text != same->text || same->differs)) {
    same->differs = true;
  } else {
    *same = std::move(document);
  }
}

}  // namespace ddl
