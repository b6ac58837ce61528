// This file follows loops turn by turn, and `printf -v`, by which such loops build lists.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/options/configurations/shell_reader.hpp"
#include "cli/options/configurations/shell_tests.hpp"
#include "cli/options/configurations/starting_commands.hpp"
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

/// Whether a word of a loop's list is known, and not a pattern that stands for other words.
bool is_loop_word(const PlacedText& word) { return word.is_known() && word.text.find_first_of("*?[{") == std::string::npos; }

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

/// What a loop does next. `unknown`: the loop can't be followed further.
enum class ShellReader::Turn { runs, ends, unknown };

/// A loop whose turns are followed. `next` gives the variable `name` the value of the next turn.
struct ShellReader::FollowedLoop {
  std::string name;
  std::function<Turn()> next;
};

/// Returns the loop of a header `name = …; condition; name++`; empty if the header has another form.
std::optional<ShellReader::FollowedLoop> ShellReader::counted_loop(std::string_view header) {
  const std::vector<std::string_view> parts = split(trimmed(header, "() "), ";");
  const std::size_t equals = parts.size() == 3 ? parts[0].find('=') : std::string_view::npos;
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string name(trimmed(parts[0].substr(0, equals)));
  const std::string_view step = trimmed(parts[2]);
  const bool is_plain = step == name + "++" || step == "++" + name || step == name + "+=1" || step == name + " += 1";
  const auto numbers = [this](const std::string& each) { return state_.variables.number(each); };
  const auto first = shell_arithmetic(parts[0].substr(equals + 1), numbers);
  if (!first || !is_plain || !is_shell_name(name)) return std::nullopt;
  const ByteOrigin origin = words_.origin(words_.at());
  const auto next = [this, name, numbers, origin, first, condition = std::string(parts[1]), has_begun = false]() mutable {
    std::optional<std::int64_t> number = has_begun ? state_.variables.number(name) : first;
    std::int64_t added = 0;
    if (has_begun && number) number = __builtin_add_overflow(*number, 1, &added) ? std::nullopt : std::optional(added);
    if (!number) return Turn::unknown;
    has_begun = true;
    PlacedText value{.text = fmt::format("{}", *number), .start = origin};
    value.origins.assign(value.text.size(), origin);
    state_.variables.assign(name, {.words = {std::move(value)}});
    const std::optional<std::int64_t> goes_on = shell_arithmetic(condition, numbers);
    if (!goes_on) return Turn::unknown;
    return *goes_on == 0 ? Turn::ends : Turn::runs;
  };
  return FollowedLoop{name, next};
}

/// Returns the loop `for name in VALUE…`; empty if a value is unknown or a pattern, or if there is only one value. The body
/// of a loop over one value is read once, and loops in it can be followed.
std::optional<ShellReader::FollowedLoop> ShellReader::listed_loop(const std::string& name,
                                                                  const std::vector<PlacedText>& values) {
  if (name.empty() || values.size() < 2 || !std::ranges::all_of(values, is_loop_word)) return std::nullopt;
  const auto next = [this, name, values, at = std::size_t{0}]() mutable {
    if (at == values.size()) return Turn::ends;
    state_.variables.assign(name, {.words = {values[at++]}});
    return Turn::runs;
  };
  return FollowedLoop{name, next};
}

/// Follows one turn of a loop, whose body begins at `body`. Returns false if the body may start a training or end the loop.
bool ShellReader::follow_turn(std::size_t body, std::span<const std::string_view> ends) {
  const std::size_t commands = state_.script.commands.size();
  const bool had_ended = own_.has_ended;
  words_.restart(body);
  try {
    read_list(ScriptRun::yes, ends);
  } catch (const Error&) {
    return false;  // the body exceeds a limit, or has an error that is reported later
  }
  const auto is_silent = [](const ScriptCommand& each) { return is_silent_command(each.words.front().text); };
  const auto first = state_.script.commands.begin() + static_cast<std::ptrdiff_t>(commands);
  return own_.has_ended == had_ended && std::all_of(first, state_.script.commands.end(), is_silent);
}

/// Follows a loop turn by turn. Returns false, at the beginning of the body, if a value is unknown, if the body starts
/// commands, or if the loop takes too long. The changes by the turns are then undone.
bool ShellReader::follow_loop(const std::optional<FollowedLoop>& loop, std::span<const std::string_view> ends) {
  constexpr std::size_t most_looped = std::size_t{1} << 20U;
  // Each loop copies the state, whose size is at most proportional to the work so far.
  constexpr std::size_t most_copied = 16 * most_expanded_bytes;
  if (!loop || state_.is_in_loop || state_.looped > most_looped || state_.copied_for_loops > most_copied) return false;
  state_.copied_for_loops += state_.work();
  const ShellState before = state_;
  const Progress progress = own_;
  const std::size_t looped = state_.looped, start = state_.work(), body = words_.at();
  state_.is_in_loop = true;
  bool has_turned = false, is_followed = false;
  while (state_.looped <= most_looped && state_.looped - looped + state_.work() - start <= most_looped) {
    const Turn turn = loop->next();
    is_followed = turn == Turn::ends;
    if (turn != Turn::runs) break;
    // The lines of here-documents in the body are passed again in each turn.
    own_.document_line = progress.document_line;
    own_.after_documents = progress.after_documents;
    if (!follow_turn(body, ends)) break;
    has_turned = true;
    state_.looped += words_.at() - body + loop->name.size();
  }
  if (is_followed && !has_turned) read_list(ScriptRun::no, ends);
  const std::size_t work = state_.looped + state_.work() - start;
  if (is_followed) {
    // The turns count as the work of loops alone.
    state_.expanded = before.expanded;
    state_.inner_bytes = before.inner_bytes;
    state_.commands = before.commands;
  } else {
    state_ = before;
    own_ = progress;
    words_.restart(body);
  }
  state_.is_in_loop = false;
  state_.looped = work;
  return is_followed;
}

/// Follows the loop `for ((HEADER))` or `for NAME in VALUES`, as follow_loop does.
bool ShellReader::follow_for(std::string_view header, const std::string& name, const std::vector<PlacedText>& values,
                             std::span<const std::string_view> ends) {
  return follow_loop(header.empty() ? listed_loop(name, values) : counted_loop(header), ends);
}

/// Warns if the value that --set gives for a loop's variable is none of the loop's words, which are all known.
void ShellReader::check_loop_value(const std::string& name, const std::string& given,
                                   const std::vector<PlacedText>& values) {
  if (!std::ranges::all_of(values, is_loop_word)) return;
  if (std::ranges::any_of(values, [&](const PlacedText& each) { return each.text == given; })) return;
  skip(fmt::format("the loop has no value {} for the variable {}, which --set sets", quote(given), name),
       values.front().origin());
}

/// Makes the variable of a counted loop unknown, if the loop is not followed.
void ShellReader::forget_counter(std::string_view header) {
  const std::string name(trimmed(header.substr(0, std::min(header.find('='), header.size()))));
  if (is_shell_name(name)) state_.variables.assign(name, {.words = {unknown_variable(name, words_.origin(words_.at()))}});
}

}  // namespace ddl
