#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

/// A piece of a text, and its subpieces. A fuzzer moves, copies and removes whole pieces, so that
/// the text stays in its language.
struct Piece {
  /// The prefix of the piece: a key, the dash of an item, the number of a field.
  std::string head{};
  /// The value of the piece, if there are no subpieces.
  std::string value{};
  /// The style of the piece in its language. Each language has its own letters for styles.
  char kind = 0;
  std::vector<Piece> pieces{};
};

/// A language: functions that parse a text into pieces, and write pieces as a text. A parsed text
/// is written with the same meaning; only blanks change.
struct Language {
  std::string_view name;
  /// Parses a text; empty if the text is not in the language.
  std::optional<Piece> (*read)(std::string_view text);
  std::string (*write)(const Piece& whole);
};

/// Maximum depth of parsed pieces. Deeper pieces stay values.
inline constexpr int most_nested = 100;

extern const Language csv_language;
extern const Language json_language;
/// The language of profiles: a head in YAML, a line `---`, and a table in CSV.
extern const Language profile_language;
/// The wire format of Protocol Buffers, in which ONNX files are written.
extern const Language protobuf_language;
extern const Language yaml_language;

}  // namespace ddl
