// This file follows counted loops turn by turn, and `printf -v`, by which such loops build lists.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/options/configurations/shell_reader.hpp"
#include "cli/options/configurations/shell_tests.hpp"
#include "core/error.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

/// A conversion of printf, such as `%s` or `%02d`.
struct Conversion {
  std::size_t size = 0;   ///< bytes in the format
  std::size_t width = 0;  ///< least number of digits
  char kind = 's';        ///< `s`, `d` or `%`
};

/// Reads `%s`, `%d`, `%02d` or `%%` at the beginning of a text; empty if another conversion is there.
std::optional<Conversion> conversion_of(std::string_view text) {
  Conversion one{.size = 1};
  const bool is_padded = text.size() > 3 && text[1] == '0' && text[2] >= '1' && text[2] <= '9';
  if (is_padded) {
    one.width = static_cast<std::size_t>(text[2] - '0');
    one.size = 3;
  }
  if (one.size >= text.size()) return std::nullopt;
  one.kind = text[one.size++];
  if (one.kind != 'd' && (is_padded || (one.kind != 's' && one.kind != '%'))) return std::nullopt;
  return one;
}

/// Returns what printf writes; empty if the format has other conversions, or fewer than there are words.
std::optional<PlacedText> printed(const PlacedText& format, std::span<const PlacedText> words) {
  PlacedText all{.start = format.origin()};
  std::size_t next = 0;
  for (std::size_t i = 0; i < format.text.size(); ++i) {
    if (format.text[i] == '\\') return std::nullopt;
    if (format.text[i] != '%') {
      all.add(format.part(i, i + 1));
      continue;
    }
    const std::optional<Conversion> one = conversion_of(std::string_view(format.text).substr(i));
    if (!one) return std::nullopt;
    i += one->size - 1;
    if (one->kind == '%') {
      all.add('%', format.origins[i]);
      continue;
    }
    PlacedText word = one->kind == 's' ? PlacedText{} : PlacedText{.text = "0", .origins = {format.origins[i]}};
    if (next < words.size()) word = words[next++];
    if (one->kind == 'd' && word.is_known()) {
      // A number with a zero in front is octal.
      const std::optional<std::int64_t> number = shell_number(word);
      const std::string digits = number ? fmt::format("{}", *number) : std::string();
      if (digits != word.text) return std::nullopt;
      const ByteOrigin origin = word.origin();
      word.text = fmt::format("{:0{}}", *number, one->width);
      word.origins.assign(word.text.size(), origin);
    }
    all.add(word);
  }
  return next == words.size() ? std::optional(all) : std::nullopt;
}

}  // namespace

/// Performs `printf -v NAME FORMAT WORD…`, which sets a variable.
void ShellReader::perform_print(const std::vector<PlacedText>& words) {
  const PlacedText& name = words[2];
  if (!name.is_known() || !is_shell_name(name.text)) return;
  const std::size_t at = words[3].text == "--" && words.size() > 4 ? 4 : 3;
  PlacedText value =
      printed(words[at], std::span(words).subspan(at + 1)).value_or(unknown_variable(name.text, words[at].origin()));
  state_.script.assigned.push_back({.name = name.text, .words = {value}, .from = state_.script.commands.size()});
  state_.variables.assign(name.text, {.words = {std::move(value)}});
}

/// A loop `for ((name = …; condition; name++))`.
struct ShellReader::CountedLoop {
  std::string name;
  std::string condition;
  std::int64_t first = 0;
  std::size_t body = 0;  ///< position of the first command
};

std::optional<ShellReader::CountedLoop> ShellReader::counted_loop(std::string_view header) const {
  const std::vector<std::string_view> parts = split(trimmed(header, "() "), ";");
  const std::size_t equals = parts.size() == 3 ? parts[0].find('=') : std::string_view::npos;
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string name(trimmed(parts[0].substr(0, equals)));
  const std::string_view step = trimmed(parts[2]);
  const bool is_plain = step == name + "++" || step == "++" + name || step == name + "+=1" || step == name + " += 1";
  const auto first =
      shell_arithmetic(parts[0].substr(equals + 1), [&](const std::string& each) { return state_.variables.number(each); });
  if (!first || !is_plain || !is_shell_name(name)) return std::nullopt;
  return CountedLoop{.name = name, .condition = std::string(parts[1]), .first = *first, .body = words_.at()};
}

/// Follows one turn of a loop. Returns whether the body ran; nothing if a number is unknown, or if the body starts commands.
std::optional<bool> ShellReader::follow_turn(const CountedLoop& loop, std::span<const std::string_view> ends) {
  const auto numbers = [&](const std::string& each) { return state_.variables.number(each); };
  const std::optional<std::int64_t> goes_on = shell_arithmetic(loop.condition, numbers);
  if (!goes_on) return std::nullopt;
  if (*goes_on == 0) return false;
  const std::size_t commands = state_.script.commands.size();
  const bool had_ended = own_.has_ended;
  words_.restart(loop.body);
  try {
    read_list(ScriptRun::yes, ends);
  } catch (const Error&) {
    return std::nullopt;  // the body exceeds a limit, or has an error that is reported later
  }
  const bool starts = state_.script.commands.size() != commands || own_.has_ended != had_ended;
  return starts ? std::nullopt : std::optional(true);
}

/// Follows `for ((i = 0; i < N; i++))` turn by turn. Returns false, at the beginning of the body, if a number is unknown, if
/// the body starts commands, or if the loop takes too long. The changes by the turns are then undone.
bool ShellReader::follow_loop(std::string_view header, std::span<const std::string_view> ends) {
  constexpr std::size_t most_looped = std::size_t{1} << 20U;
  constexpr int most_counted_loops = 64;
  const std::optional<CountedLoop> loop = counted_loop(header);
  if (!loop || state_.is_in_loop || state_.counted_loops == most_counted_loops || state_.looped > most_looped) return false;
  const ShellState before = state_;
  const Progress progress = own_;
  const std::size_t looped = state_.looped, start = state_.work();
  state_.is_in_loop = true;
  const auto end = [&](bool is_followed) {
    const std::size_t work = state_.looped + state_.work() - start;
    if (is_followed) {
      // The turns count only as the work of loops.
      state_.expanded = before.expanded;
      state_.inner_bytes = before.inner_bytes;
      state_.commands = before.commands;
    } else {
      state_ = before;
      own_ = progress;
      words_.restart(loop->body);
    }
    state_.is_in_loop = false;
    state_.looped = work;
    state_.counted_loops = before.counted_loops + 1;
    return is_followed;
  };
  bool has_turned = false;
  for (std::optional<std::int64_t> number = loop->first; number && state_.looped <= most_looped;) {
    PlacedText value{.text = fmt::format("{}", *number), .start = words_.origin(loop->body)};
    value.origins.assign(value.text.size(), words_.origin(loop->body));
    state_.variables.assign(loop->name, {.words = {std::move(value)}});
    // The lines of here-documents in the body are passed again in each turn.
    own_.document_line = progress.document_line;
    own_.after_documents = progress.after_documents;
    const std::optional<bool> turned = follow_turn(*loop, ends);
    if (!turned) break;
    if (!*turned) {
      if (!has_turned) read_list(ScriptRun::no, ends);
      return end(true);
    }
    has_turned = true;
    state_.looped += words_.at() - loop->body + loop->name.size();
    number = state_.variables.number(loop->name);
    std::int64_t next = 0;
    if (number) number = __builtin_add_overflow(*number, 1, &next) ? std::nullopt : std::optional(next);
    if (state_.looped - looped + state_.work() - start > most_looped) break;
  }
  return end(false);
}

/// Makes the variable of a counted loop unknown, if the loop is not followed.
void ShellReader::forget_counter(std::string_view header) {
  const std::string name(trimmed(header.substr(0, std::min(header.find('='), header.size()))));
  if (is_shell_name(name)) state_.variables.assign(name, {.words = {unknown_variable(name, words_.origin(words_.at()))}});
}

}  // namespace ddl
