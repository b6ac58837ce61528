#include "tests/cli/without_figures.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace ddl {
namespace {

constexpr char figure_mark = '\x01';  // occurs in no output

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c); }

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

/// Returns the length of a number without its sign; 0 if there is no number.
std::size_t number_at(std::string_view text, std::size_t at, CommaIn commas) {
  std::size_t end = at + digits_at(text, at);
  if (end == at) return 0;
  if (commas == CommaIn::figures && end - at <= 3) {
    while (end < text.size() && text[end] == ',' && digits_at(text, end + 1) == 3) end += 4;
  }
  if (end < text.size() && text[end] == '.' && digits_at(text, end + 1) > 0) end += 1 + digits_at(text, end + 1);
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    const std::size_t sign = end + 1 < text.size() && (text[end + 1] == '+' || text[end + 1] == '-') ? 1 : 0;
    if (const std::size_t digits = digits_at(text, end + 1 + sign); digits > 0) end += 1 + sign + digits;
  }
  return end - at;
}

/// Returns the letters and digits that start at this position.
std::string_view word_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_word(text[end])) ++end;
  return text.substr(at, end - at);
}

/// Returns a unit without its prefix; empty if the text is not a unit.
std::string_view base_unit(std::string_view unit) {
  constexpr std::array<std::string_view, 7> times{"ns", "us", "ms", "s", "min", "h", "d"};
  if (std::ranges::find(times, unit) != times.end()) return "s";
  for (const std::string_view base : {"FLOP", "B", "b", "Hz"}) {
    if (!unit.ends_with(base)) continue;
    std::string_view prefix = unit.substr(0, unit.size() - base.size());
    if (prefix.size() == 2 && prefix[1] == 'i') prefix.remove_suffix(1);
    if (prefix.empty() || (prefix.size() == 1 && std::string_view("kKMGTPE").find(prefix[0]) != std::string_view::npos)) {
      return base;
    }
  }
  return {};
}

/// Returns the length of the character at this position if it is a space, box-drawing (U+2500) or a bar (U+2580); else 0.
std::size_t filler_at(std::string_view text, std::size_t at) {
  if (text[at] == ' ') return 1;
  if (at + 2 >= text.size() || text[at] != '\xE2') return 0;
  const auto second = static_cast<unsigned char>(text[at + 1]);
  const auto third = static_cast<unsigned char>(text[at + 2]);
  return second == 0x94 || second == 0x95 || (second == 0x96 && third <= 0x9F) ? 3 : 0;
}

class Reader {
 public:
  Reader(std::string_view line, CommaIn commas) : line_(line), commas_(commas) {}

  std::string read() {
    const std::size_t indent = std::min(line_.find_first_not_of(' '), line_.size());
    at_ = indent;
    // A pattern may have `[..]` in place of the figure.
    const bool aligned = line_.substr(indent).starts_with("[..]") || figure_at(indent).has_value();
    if (!aligned) text_ = std::string(indent, ' ');
    while (at_ < line_.size()) step();
    while (text_.ends_with(' ')) text_.pop_back();
    return text_;
  }

 private:
  struct Figure {
    std::size_t end = 0;
    std::string_view unit;
  };

  void step() {
    if (const std::size_t filler = filler_at(line_, at_); filler > 0) {
      if (!text_.ends_with(' ')) text_ += ' ';
      at_ += filler;
    } else if (const std::optional<Figure> figure = figure_at(at_)) {
      text_ += figure_mark;
      if (!figure->unit.empty()) text_.append(" ").append(figure->unit);
      at_ = figure->end;
    } else if (is_word(line_[at_])) {
      const std::size_t end = end_of_word();
      const std::string_view word = line_.substr(at_, end - at_);
      text_ += word == "ms" || word == "us" || word == "ns" ? std::string_view("s") : word;
      at_ = end;
    } else {
      text_ += line_[at_++];
    }
  }

  /// Returns a number and its unit; empty if the digits belong to a word.
  [[nodiscard]] std::optional<Figure> figure_at(std::size_t at) const {
    if (at >= line_.size()) return std::nullopt;
    const bool sign = at + 1 < line_.size() && (line_[at] == '-' || line_[at] == '+');
    if (sign && at > 0 && line_[at - 1] != ' ' &&
        std::string_view("(,[\":=").find(line_[at - 1]) == std::string_view::npos) {
      return std::nullopt;
    }
    const std::size_t start = sign ? at + 1 : at;
    const std::size_t length = number_at(line_, start, commas_);
    if (length == 0) return std::nullopt;
    Figure figure{.end = start + length, .unit = {}};
    while (true) {  // `2 h 05 min` has two numbers
      const bool apart = figure.end < line_.size() && line_[figure.end] == ' ';
      const std::string_view letters = word_at(line_, figure.end + (apart ? 1 : 0));
      if (!apart && (letters.empty() || extent_at(figure.end))) return figure;
      const std::string_view unit = base_unit(letters);
      if (unit.empty()) return apart ? std::optional(figure) : std::nullopt;
      figure = {.end = figure.end + (apart ? 1 : 0) + letters.size(), .unit = unit};
      if (unit != "s" || figure.end >= line_.size() || line_[figure.end] != ' ') return figure;
      const std::size_t next = number_at(line_, figure.end + 1, commas_);
      const std::size_t after = figure.end + 1 + next;
      if (next == 0 || after >= line_.size() || line_[after] != ' ') return figure;
      if (base_unit(word_at(line_, after + 1)) != "s") return figure;
      figure.end = after;
    }
  }

  /// Returns whether an extent starts at this position, such as `x32` in `32x32`.
  [[nodiscard]] bool extent_at(std::size_t at) const { return line_[at] == 'x' && digits_at(line_, at + 1) > 0; }

  /// Returns the end of a word. A word continues over separators inside names: `dgx-a100`,
  /// `stage1.conv1`, `job.yaml:5:24`, `runs/2.csv`.
  [[nodiscard]] std::size_t end_of_word() const {
    if (line_[at_] == 'x' && at_ > 0 && is_digit(line_[at_ - 1]) && extent_at(at_)) return at_ + 1;
    std::size_t end = at_;
    while (end < line_.size()) {
      const bool joined = end + 1 < line_.size() && std::string_view("-.:/@").find(line_[end]) != std::string_view::npos &&
                          is_word(line_[end + 1]);
      if (!is_word(line_[end]) && !joined) break;
      ++end;
    }
    return end;
  }

  std::string_view line_;
  CommaIn commas_;
  std::size_t at_ = 0;
  std::string text_;
};

}  // namespace

std::string without_figures(std::string_view line, CommaIn commas) { return Reader(line, commas).read(); }

}  // namespace ddl
