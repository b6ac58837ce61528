#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

/// A piece of a text, and its subpieces: a fuzzer moves, copies and removes whole pieces, so that the text stays in its
/// language.
struct Piece {
  /// The prefix: a key, the dash of an item, the number of a field.
  std::string head{};
  /// The value, if there are no subpieces.
  std::string value{};
  /// The style in its language; each language has its own letters.
  char kind = 0;
  std::vector<Piece> pieces{};
};

/// Parsing of texts into pieces, and the inverse. A parsed text is written with the same meaning; only blanks change.
struct Language {
  std::string_view name;
  /// Empty if the text is not in the language.
  std::optional<Piece> (*read)(std::string_view text);
  std::string (*write)(const Piece& whole);
};

/// Maximum depth of parsed pieces; deeper ones stay values.
inline constexpr int most_nested = 100;

extern const Language csv_language;
extern const Language json_language;
/// A head in YAML, a line `---`, and a table in CSV, as profiles have them.
extern const Language profile_language;
/// The wire format of Protocol Buffers, in which ONNX files are written.
extern const Language protobuf_language;
extern const Language yaml_language;

}  // namespace ddl
