#include "calibration/network/sweep/rendezvous/packed_text.hpp"

namespace ddl {

void append_length(std::string& text, std::size_t length) {
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(length >> static_cast<unsigned>(shift) & 0xFFU);
}

std::size_t read_length(std::string_view text) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < packed_length_bytes; ++i) length = length << 8U | static_cast<unsigned char>(text[i]);
  return length;
}

std::string pack(const std::vector<std::string>& texts) {
  std::string packed;
  for (const std::string& text : texts) {
    append_length(packed, text.size());
    packed += text;
  }
  return packed;
}

std::optional<std::vector<std::string>> unpack(std::string_view packed) {
  std::vector<std::string> texts;
  while (!packed.empty()) {
    if (packed.size() < packed_length_bytes) return std::nullopt;
    const std::size_t length = read_length(packed);
    packed.remove_prefix(packed_length_bytes);
    if (packed.size() < length) return std::nullopt;
    texts.emplace_back(packed.substr(0, length));
    packed.remove_prefix(length);
  }
  return texts;
}

}  // namespace ddl
