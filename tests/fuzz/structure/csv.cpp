#include "tests/fuzz/structure/language.hpp"

namespace ddl {
namespace {

constexpr char table = 't', row = 'r', cell = 'c';

std::optional<Piece> read_csv(std::string_view text) {
  Piece whole{.kind = table};
  Piece line{.kind = row};
  std::size_t start = 0;
  bool quoted = false;
  const auto end_cell = [&](std::size_t end) {
    line.pieces.push_back({.value = std::string(text.substr(start, end - start)), .kind = cell});
    start = end + 1;
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') quoted = !quoted;
    if (quoted || (c != ',' && c != '\n')) continue;
    end_cell(at);
    if (c == ',') continue;
    whole.pieces.push_back(std::move(line));
    line = {.kind = row};
  }
  if (quoted) return std::nullopt;
  if (start < text.size() || !line.pieces.empty()) {
    end_cell(text.size());
    whole.pieces.push_back(std::move(line));
  }
  return whole;
}

std::string write_csv(const Piece& whole) {
  std::string text;
  for (const Piece& line : whole.pieces) {
    const std::vector<Piece> alone{line};
    const std::vector<Piece>& cells = line.pieces.empty() ? alone : line.pieces;
    for (std::size_t i = 0; i < cells.size(); ++i) text += (i == 0 ? "" : ",") + cells[i].value;
    text += '\n';
  }
  return text;
}

}  // namespace

const Language csv_language{"csv", read_csv, write_csv};

}  // namespace ddl
