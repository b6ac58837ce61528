#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

/// A piece of a text, and the pieces that it is made of: what a fuzzer moves, copies and removes whole, so that the text
/// stays one of its language.
struct Piece {
  /// What stands before it: a key, the dash of an item, the number of a field.
  std::string head{};
  /// What it says, where it has no pieces.
  std::string value{};
  /// How its language writes it; each language has letters of its own.
  char kind = 0;
  std::vector<Piece> pieces{};
};

/// How texts are taken to pieces, and written again. What is read is written so that it reads the same; what changes is
/// blanks.
struct Language {
  std::string_view name;
  /// Nothing where the text is not of the language.
  std::optional<Piece> (*read)(std::string_view text);
  std::string (*write)(const Piece& whole);
};

/// Pieces within pieces that a reader takes apart; deeper ones stay values.
inline constexpr int most_nested = 100;

extern const Language csv_language;
extern const Language json_language;
/// A head in YAML, a line `---`, and a table in CSV, as profiles have them.
extern const Language profile_language;
/// The wire format of Protocol Buffers, in which ONNX files are written.
extern const Language protobuf_language;
extern const Language yaml_language;

}  // namespace ddl
