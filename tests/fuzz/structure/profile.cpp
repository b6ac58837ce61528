#include "tests/fuzz/structure/language.hpp"

namespace ddl {
namespace {

constexpr std::string_view border = "---\n";

std::optional<Piece> read_profile(std::string_view text) {
  const std::size_t at = text.find(border);
  if (at == std::string_view::npos) return std::nullopt;
  std::optional<Piece> head = yaml_language.read(text.substr(0, at));
  std::optional<Piece> table = csv_language.read(text.substr(at + border.size()));
  if (!head || !table) return std::nullopt;
  return Piece{.kind = 'p', .pieces = {*std::move(head), *std::move(table)}};
}

std::string write_profile(const Piece& whole) {
  std::string text = whole.pieces.empty() ? "" : yaml_language.write(whole.pieces.front());
  for (std::size_t i = 1; i < whole.pieces.size(); ++i) text.append(border).append(csv_language.write(whole.pieces[i]));
  return text;
}

}  // namespace

const Language profile_language{"profile", read_profile, write_profile};

}  // namespace ddl
