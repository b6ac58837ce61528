#include "calibration/network/benchmarks/line_prefix.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace ddl {
namespace {

constexpr std::string_view gaps = " \t";
constexpr std::string_view digits = "0123456789";
constexpr char escape = '\x1B';

std::size_t end_of(std::string_view text, std::string_view of, std::size_t at) {
  return std::min(text.find_first_not_of(of, at), text.size());
}

/// Parses text from the left. Each member returns whether it consumed something.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  [[nodiscard]] std::size_t at() const { return at_; }
  bool one_of(std::string_view letters) {
    if (at_ >= text_.size() || letters.find(text_[at_]) == std::string_view::npos) return false;
    ++at_;
    return true;
  }
  bool number(std::size_t least, std::size_t most) {
    const std::size_t count = end_of(text_, digits, at_) - at_;
    if (count < least || count > most) return false;
    at_ += count;
    return true;
  }
  void skip_gaps() { at_ = end_of(text_, gaps, at_); }
  void back_to(std::size_t at) { at_ = at; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

/// `12:34:56`, `12:34:56.789Z`, `12:34:56,789+02:00`
bool time_of_day(Cursor& cursor) {
  if (!(cursor.number(2, 2) && cursor.one_of(":") && cursor.number(2, 2) && cursor.one_of(":") && cursor.number(2, 2))) {
    return false;
  }
  if (cursor.one_of(".,")) cursor.number(1, 12);
  if (cursor.one_of("Z")) return true;
  if (cursor.one_of("+-") && cursor.number(2, 4) && cursor.one_of(":")) cursor.number(2, 2);
  return true;
}

/// `2024-05-07`, `2024/05/07`, `05/07/24`
bool date(Cursor& cursor) {
  return cursor.number(2, 4) && cursor.one_of("-/") && cursor.number(2, 2) && cursor.one_of("-/") && cursor.number(2, 4);
}

/// Length of a date, a time of day, or both at the beginning of a text; 0 without either.
std::size_t stamp_length(std::string_view text) {
  Cursor cursor(text);
  if (date(cursor)) {
    const std::size_t end = cursor.at();
    if (!cursor.one_of("T")) cursor.skip_gaps();
    if (!time_of_day(cursor)) cursor.back_to(end);
  } else {
    cursor.back_to(0);
    if (!time_of_day(cursor)) return 0;
  }
  return cursor.at();
}

/// Length of one label at the beginning of a line; 0 if there is none.
std::size_t one_label_length(std::string_view line) {
  const std::size_t start = end_of(line, gaps, 0);
  const std::size_t number = end_of(line, digits, start);
  if (number > start && line.substr(number).starts_with(": ")) return number + 2;
  if (const std::size_t stamp = stamp_length(line.substr(start)); stamp > 0) {
    const std::size_t end = start + stamp;
    if (end >= line.size()) return end;
    if (line.substr(end).starts_with(": ")) return end + 1;
    return gaps.find(line[end]) != std::string_view::npos ? end : 0;
  }
  if (!line.substr(start).starts_with('[')) return 0;
  for (const std::string_view tag : {"<stdout>:", "<stderr>:", "]:"}) {
    const std::size_t end = line.find(tag, start);
    if (end != std::string_view::npos && std::min(line.find_first_of(gaps, start), line.size()) > end)
      return end + tag.size();
  }
  const std::size_t close = line.find(']', start);
  if (close == std::string_view::npos) return 0;
  const std::string_view inside = line.substr(start + 1, close - start - 1);
  const bool is_number = !inside.empty() && end_of(inside, "0123456789.", 0) == inside.size();
  const bool is_stamp = !inside.empty() && stamp_length(inside) == inside.size();
  return is_number || is_stamp ? close + 1 : 0;
}

/// The words with which known lines of benchmarks begin, after their '#'.
constexpr std::array<std::string_view, 9> first_words{"OSU",  "nThread",      "Using",      "Rank",      "Benchmarking",
                                                      "Size", "#repetitions", "nccl-tests", "Collective"};

std::string_view next_word(std::string_view text, std::size_t& at) {
  const std::size_t begin = end_of(text, gaps, at);
  at = std::min(text.find_first_of(gaps, begin), text.size());
  return text.substr(begin, at - begin);
}

/// Where known text begins in a line; empty if it has none.
std::optional<std::size_t> known_text(std::string_view line) {
  for (std::size_t sign = line.find('#'); sign != std::string_view::npos; sign = line.find('#', sign + 1)) {
    std::size_t at = sign + 1;
    const std::string_view first = next_word(line, at);
    if (std::find(first_words.begin(), first_words.end(), first) != first_words.end()) return sign;
    const std::string_view second = next_word(line, at);
    if ((first == "size" && second == "count") || (first == "bytes" && second.starts_with("#"))) return sign;
  }
  const std::size_t size = line.find("size ");
  if (size == std::string_view::npos) return std::nullopt;
  std::size_t at = size + 4;
  return next_word(line, at) == "count" ? std::optional(size) : std::nullopt;
}

/// A prefix as LinePrefixes stores it.
std::string shape_of(std::string_view prefix) {
  std::string shape;
  for (const char c : prefix) {
    const char letter = digits.find(c) != digits.npos ? '0' : c == '\t' ? ' ' : c;
    if ((letter == '0' || letter == ' ') && !shape.empty() && shape.back() == letter) continue;
    shape += letter;
  }
  return shape;
}

}  // namespace

std::string without_terminal_codes(std::string text) {
  for (std::size_t at = text.find(escape); at != std::string::npos; at = text.find(escape, at)) {
    std::size_t end = at + 1;
    if (end < text.size() && text[end] == '[') {
      ++end;
      while (end < text.size() && text[end] >= 0x20 && text[end] < 0x40) ++end;
      if (end < text.size() && text[end] >= 0x40 && text[end] != '\x7F') ++end;
    }
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    at = end;
  }
  return text;
}

std::vector<std::size_t> blank_restarts(std::string& text) {
  std::vector<std::size_t> restarts;
  for (std::size_t at = text.find('\r'); at != std::string::npos; at = text.find('\r', at + 1)) {
    if (at + 1 < text.size() && text[at + 1] == '\n') continue;
    text[at] = ' ';
    restarts.push_back(at);
  }
  return restarts;
}

std::string without_inner_labels(std::string text) {
  for (std::size_t at = text.find('['); at != std::string::npos; at = text.find('[', at + 1)) {
    const std::size_t end = end_of(text, digits, at + 1);
    const bool is_behind_number = at > 0 && digits.find(text[at - 1]) != std::string_view::npos;
    const bool is_label = end > at + 1 && end + 1 < text.size() && text[end] == ']' && text[end + 1] == ' ';
    if (is_behind_number && is_label)
      std::fill(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end) + 1, ' ');
  }
  return text;
}

std::size_t known_label_length(std::string_view line) {
  constexpr int most_labels = 4;
  std::size_t length = 0;
  for (int i = 0; i < most_labels; ++i) {
    const std::size_t next = one_label_length(line.substr(length));
    if (next == 0) break;
    length += next;
  }
  return length;
}

void LinePrefixes::learn(std::string_view line) {
  constexpr std::size_t most_shapes = 64, longest = 256;
  const std::optional<std::size_t> begin = known_text(line);
  if (!begin || *begin > longest || shapes_.size() >= most_shapes) return;
  const std::string shape = shape_of(line.substr(0, *begin));
  if (shape.find_first_not_of(' ') == std::string::npos) return;
  if (shape.find_first_not_of('#') == std::string::npos) return;  // a heading of a page, such as `## Using the cluster`
  if (std::find(shapes_.begin(), shapes_.end(), shape) == shapes_.end()) shapes_.push_back(shape);
}

std::size_t LinePrefixes::length(std::string_view line) const {
  std::size_t longest = 0;
  for (const std::string_view shape : shapes_) {
    std::size_t at = 0;
    bool is_same = true;
    for (std::size_t i = 0; i < shape.size() && is_same; ++i) {
      const bool is_last = i + 1 == shape.size();
      std::size_t end = at;
      if (shape[i] == '0') {
        end = end_of(line, digits, at);
      } else if (shape[i] == ' ') {
        // Spaces after the prefix belong to the benchmark, which aligns its columns.
        end = is_last
                  ? std::min(at + (at < line.size() && gaps.find(line[at]) != std::string_view::npos ? 1U : 0U), line.size())
                  : end_of(line, gaps, at);
        if (is_last && end == at && at == line.size()) break;  // an empty line of the benchmark
      } else if (at < line.size() && line[at] == shape[i]) {
        ++end;
      }
      is_same = end > at;
      at = end;
    }
    if (is_same) longest = std::max(longest, at);
  }
  return longest;
}

}  // namespace ddl
