#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddl {

[[nodiscard]] bool is_digit(char c);
/// Splits a name into words of lower-case letters and digits. A size of memory in `G` gets its unit: `80g` is `80gb`.
[[nodiscard]] std::vector<std::string> words_of(std::string_view name);
/// Removes the number of devices before or after a name: `8xH100`, `8x H100`, `8 * H100`, `4GPUs A40`, `dual 4090`, `T4
/// x2`.
void remove_count(std::vector<std::string>& words);
/// The size of memory that a word names, such as `80gb`; 0 if it names none.
[[nodiscard]] double gigabytes_in(const std::string& word);
/// The words without anything between them.
[[nodiscard]] std::string joined(const std::vector<std::string>& words);

struct Spellings {
  std::vector<std::string> names;  ///< the most exact one first
  std::vector<std::string> words;  ///< words of the name, without words of vendors, sockets and kinds of memory
};

/// Returns shorter spellings of a name. They lack the number of devices, words for vendors, sockets and kinds of memory, and
/// a plural (`H100s`). The size of memory follows the device. Names of TPU slices lack the number of chips (`v5p-128`) or
/// the shape (`v5p-4x4x8`).
[[nodiscard]] Spellings shorter_spellings(std::string_view name);

}  // namespace ddl
