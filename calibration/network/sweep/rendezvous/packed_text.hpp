#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

/// Texts as one, each behind its length in four bytes, the highest first.
[[nodiscard]] std::string pack(const std::vector<std::string>& texts);
/// The texts again; nothing where it is not what `pack` makes.
[[nodiscard]] std::optional<std::vector<std::string>> unpack(std::string_view packed);

inline constexpr std::size_t packed_length_bytes = 4;
void append_length(std::string& text, std::size_t length);
/// Of the first four bytes, which must be there.
[[nodiscard]] std::size_t read_length(std::string_view text);

}  // namespace ddl
