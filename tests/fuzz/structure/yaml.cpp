#include <algorithm>

#include "tests/fuzz/structure/language.hpp"

// The YAML style of this program's files: maps and lists by indentation or in brackets, and texts
// on one line or on deeper lines.
namespace ddl {
namespace {

constexpr char document = 'd', line = 'l', list = '[', map = '{';

std::size_t indentation_of(std::string_view text) { return std::min(text.find_first_not_of(' '), text.size()); }

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(indentation_of(text));
  return text.substr(0, text.find_last_not_of(" \r") + 1);
}

/// Returns the start of an item's value, which is after its dashes, and after its key if it has one.
std::size_t value_in(std::string_view text) {
  std::size_t at = indentation_of(text);
  while (text.substr(at).starts_with("- ")) at += 2 + indentation_of(text.substr(at + 2));
  char quote = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{' || c == '[' || c == '#') {
      break;
    } else if (c == ':' && (i + 1 == text.size() || text[i + 1] == ' ')) {
      return i + 1 == text.size() ? i + 1 : i + 1 + indentation_of(text.substr(i + 1));
    }
  }
  return at;
}

/// Parses a value in brackets. Leaves the piece unchanged if the value has no brackets, or if they
/// are not closed in this line.
void read_brackets(Piece& piece, int depth) {
  const std::string_view text = trimmed(piece.value);
  if (depth > most_nested || text.size() < 2 || (text.front() != list && text.front() != map)) return;
  Piece whole{.head = piece.head, .kind = text.front()};
  std::string open;
  char quote = 0;
  std::size_t start = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '"' || c == '\'') quote = c;
    if (c == '{' || c == '[') open += c;
    const bool closes = c == '}' || c == ']';
    if (open.size() == 1 && (c == ',' || closes)) {
      const std::string_view item = trimmed(text.substr(start, i - start));
      if (!item.empty() || c == ',') {
        const std::size_t value = value_in(item);
        Piece inner{.head = std::string(item.substr(0, value)), .value = std::string(item.substr(value)), .kind = line};
        read_brackets(inner, depth + 1);
        whole.pieces.push_back(std::move(inner));
      }
      start = i + 1;
    }
    if (!closes) continue;
    if (open.empty() || (open.back() == '{') != (c == '}')) return;
    open.pop_back();
    if (!open.empty()) continue;
    if (i + 1 == text.size()) piece = std::move(whole);
    return;
  }
}

/// Reads the lines from `at` on that are indented by at least `least`, each with the deeper lines below it.
std::vector<Piece> read_lines(const std::vector<std::string_view>& lines, std::size_t& at, std::size_t above,
                              std::size_t least) {
  std::vector<Piece> found;
  while (at < lines.size()) {
    const std::string_view text = lines[at];
    const std::size_t indentation = indentation_of(text);
    if (indentation < least) break;
    ++at;
    const std::size_t value = value_in(text);
    Piece piece{
        .head = std::string(text.substr(above, value - above)), .value = std::string(text.substr(value)), .kind = line};
    read_brackets(piece, 0);
    if (piece.kind == line) piece.pieces = read_lines(lines, at, indentation, indentation + 1);
    found.push_back(std::move(piece));
  }
  return found;
}

std::optional<Piece> read_yaml(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (!trimmed(text.substr(0, end)).empty()) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  // Every line that is deeper than the previous line causes one more recursive call.
  constexpr std::size_t widest_indentation = 2000;
  for (const std::string_view each : lines) {
    if (indentation_of(each) > widest_indentation) return std::nullopt;
  }
  std::size_t at = 0;
  return Piece{.kind = document, .pieces = read_lines(lines, at, 0, 0)};
}

std::string in_brackets(const Piece& piece) {
  if (piece.pieces.empty() && piece.kind != list && piece.kind != map) return piece.value;
  std::string text;
  for (const Piece& inner : piece.pieces) {
    text += (text.empty() ? "" : ", ") + std::string(inner.head.substr(indentation_of(inner.head))) + in_brackets(inner);
  }
  return piece.kind == list ? "[" + text + "]" : "{" + text + "}";
}

void write_lines(const std::vector<Piece>& pieces, std::size_t above, bool within, std::string& text) {
  for (const Piece& piece : pieces) {
    // A piece that was moved here from brackets has no indentation.
    const std::size_t own = indentation_of(piece.head);
    const std::size_t indentation = above + (own == 0 && within ? 2 : own);
    text.append(indentation, ' ').append(piece.head.substr(own));
    const bool bracketed = piece.kind == list || piece.kind == map;
    text.append(bracketed ? in_brackets(piece) : piece.value).append("\n");
    if (!bracketed) write_lines(piece.pieces, indentation, true, text);
  }
}

std::string write_yaml(const Piece& whole) {
  std::string text;
  write_lines(whole.pieces, 0, false, text);
  return text;
}

}  // namespace

const Language yaml_language{"yaml", read_yaml, write_yaml};

}  // namespace ddl
