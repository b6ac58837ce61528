#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

/// Joins several texts into one. The length of each text precedes it, in four bytes, big-endian.
[[nodiscard]] std::string pack(const std::vector<std::string>& texts);
/// The packed texts; empty if the input was not made by `pack`.
[[nodiscard]] std::optional<std::vector<std::string>> unpack(std::string_view packed);

inline constexpr std::size_t packed_length_bytes = 4;
void append_length(std::string& text, std::size_t length);
/// The length in the first four bytes, which must exist.
[[nodiscard]] std::size_t read_length(std::string_view text);

}  // namespace ddl
