#include <algorithm>

#include "tests/fuzz/structure/language.hpp"

namespace ddl {
namespace {

constexpr char scalar = 's', list = '[', object = '{';
constexpr std::string_view blanks = " \t\r\n";

/// Reads values from the front of a text.
class JsonPieces {
 public:
  explicit JsonPieces(std::string_view text) : rest_(text) {}

  std::optional<Piece> whole() {
    std::optional<Piece> value = this->value(0);
    skip_blanks();
    return rest_.empty() ? value : std::nullopt;
  }

 private:
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(blanks), rest_.size())); }

  bool take(char wanted) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// Returns a quoted text, a number or a word; empty if there is none.
  std::string word() {
    skip_blanks();
    std::size_t end = 0;
    if (!rest_.empty() && rest_.front() == '"') {
      for (end = 1; end < rest_.size() && rest_[end] != '"'; ++end) end += rest_[end] == '\\' ? 1U : 0U;
      end = end < rest_.size() ? end + 1 : 0;
    } else {
      end = std::min(rest_.find_first_of(" \t\r\n,:[]{}\""), rest_.size());
    }
    std::string word(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return word;
  }

  std::optional<Piece> value(int depth) {
    if (depth > most_nested) return std::nullopt;
    for (const char open : {list, object}) {
      if (!take(open)) continue;
      const char close = open == list ? ']' : '}';
      Piece piece{.kind = open};
      if (take(close)) return piece;
      do {
        std::string key;
        if (open == object) {
          key = word();
          if (key.empty() || !take(':')) return std::nullopt;
        }
        std::optional<Piece> inner = value(depth + 1);
        if (!inner) return std::nullopt;
        inner->head = std::move(key);
        piece.pieces.push_back(*std::move(inner));
      } while (take(','));
      if (!take(close)) return std::nullopt;
      return piece;
    }
    std::string text = word();
    if (text.empty()) return std::nullopt;
    return Piece{.value = std::move(text), .kind = scalar};
  }

  std::string_view rest_;
};

std::string write_json(const Piece& piece) {
  if (piece.kind == scalar) return piece.value;
  std::string text(1, piece.kind == list ? '[' : '{');
  for (std::size_t i = 0; i < piece.pieces.size(); ++i) {
    const Piece& inner = piece.pieces[i];
    if (i > 0) text += ',';
    if (piece.kind == object) text += (inner.head.empty() ? "\"\"" : inner.head) + ":";
    text += write_json(inner);
  }
  return text + (piece.kind == list ? ']' : '}');
}

}  // namespace

const Language json_language{"json", [](std::string_view text) { return JsonPieces(text).whole(); }, write_json};

}  // namespace ddl
