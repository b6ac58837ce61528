#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ddl {

/// Returns the CRC-32 of RFC 1952.
[[nodiscard]] std::uint32_t checksum_of(std::string_view bytes);

/// Whether a file is compressed by gzip (RFC 1952): its first two bytes are 1F 8B.
[[nodiscard]] bool is_gzip(std::string_view bytes);

/// The decompressed content of a file that gzip wrote, with one or more members. `path` is printed in errors. Throws Error
/// if the file is damaged or truncated, if its checksum is wrong, or if the content is longer than `most_bytes`.
[[nodiscard]] std::string gunzip(std::string_view bytes, std::size_t most_bytes, const std::string& path);

}  // namespace ddl
