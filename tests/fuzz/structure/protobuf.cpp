#include <algorithm>
#include <charconv>
#include <cstdint>

#include "tests/fuzz/structure/language.hpp"

// In the wire format (https://protobuf.dev/programming-guides/encoding), a field is a varint of its
// number and wire type, followed by the content. The wire types are: 0 a varint, 1 eight bytes, 2 a
// length and as many bytes, which may be a message, 5 four bytes.
namespace ddl {
namespace {

constexpr char varint = 'v', eight = '8', four = '4', bytes = 'b', message = 'm';
constexpr std::uint64_t largest_field = 20'000;  // ONNX has no field numbers above some hundreds

std::optional<std::uint64_t> take_varint(std::string_view& from) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < from.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(from[i]);
    number |= static_cast<std::uint64_t>(byte & 0x7FU) << (7 * i);
    if (byte < 0x80) {
      from.remove_prefix(i + 1);
      return number;
    }
  }
  return std::nullopt;
}

std::string varint_of(std::uint64_t number) {
  std::string text;
  for (; number > 0x7F; number >>= 7U) text += static_cast<char>((number & 0x7FU) | 0x80U);
  return text + static_cast<char>(number);
}

std::uint64_t number_in(const std::string& text) {
  std::uint64_t number = 0;
  std::int64_t below_zero = 0;
  if (text.starts_with('-')) {
    std::from_chars(text.data(), text.data() + text.size(), below_zero);
    return static_cast<std::uint64_t>(below_zero);
  }
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::optional<Piece> read_message(std::string_view text, int depth);

std::optional<Piece> read_field(std::string_view& text, int depth) {
  const std::optional<std::uint64_t> tag = take_varint(text);
  if (!tag || *tag >> 3U == 0 || *tag >> 3U > largest_field) return std::nullopt;
  Piece field{.head = std::to_string(*tag >> 3U)};
  const auto take = [&](std::uint64_t size) {
    if (size > text.size()) return false;
    field.value = text.substr(0, size);
    text.remove_prefix(size);
    return true;
  };
  switch (*tag & 7U) {
    case 0:
      if (const auto number = take_varint(text)) {
        field.kind = varint;
        field.value = std::to_string(*number);
        return field;
      }
      return std::nullopt;
    case 1:
      field.kind = eight;
      return take(8) ? std::optional(field) : std::nullopt;
    case 2: {
      const auto size = take_varint(text);
      if (!size || !take(*size)) return std::nullopt;
      field.kind = bytes;
      // Content that could be both a message and a text is treated as text.
      const bool is_text = std::all_of(field.value.begin(), field.value.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
      if (is_text || depth > most_nested) return field;
      std::optional<Piece> inner = read_message(field.value, depth + 1);
      if (!inner) return field;
      inner->head = field.head;
      return inner;
    }
    case 5:
      field.kind = four;
      return take(4) ? std::optional(field) : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<Piece> read_message(std::string_view text, int depth) {
  Piece whole{.kind = message};
  while (!text.empty()) {
    std::optional<Piece> field = read_field(text, depth);
    if (!field) return std::nullopt;
    whole.pieces.push_back(*std::move(field));
  }
  return whole;
}

std::string write_fields(const Piece& whole) {
  std::string text;
  for (const Piece& field : whole.pieces) {
    const std::uint64_t number = std::clamp<std::uint64_t>(number_in(field.head), 1, largest_field) << 3U;
    std::string value = field.value;
    switch (field.kind) {
      case varint:
        text += varint_of(number) + varint_of(number_in(value));
        break;
      case eight:
      case four:
        value.resize(field.kind == eight ? 8 : 4);
        text += varint_of(number | (field.kind == eight ? 1U : 5U)) + value;
        break;
      default:
        if (field.kind == message) value = write_fields(field);
        text += varint_of(number | 2U) + varint_of(value.size()) + value;
    }
  }
  return text;
}

}  // namespace

const Language protobuf_language{"protobuf", [](std::string_view text) { return read_message(text, 0); }, write_fields};

}  // namespace ddl
