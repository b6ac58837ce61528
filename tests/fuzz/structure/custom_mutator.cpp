// Implements libFuzzer's hooks for a fuzzer with texts in one language, which DDL_FUZZED_LANGUAGE
// names. Most mutations change the structure of a text. All others change bytes.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tests/fuzz/structure/language.hpp"
#include "tests/fuzz/structure/mutation.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace ddl {
namespace {

const Language& language = DDL_FUZZED_LANGUAGE;

std::string_view text_in(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};  // NOLINT(bugprone-casting-through-void): bytes are letters
}

void change_bytes(std::string& value) {
  constexpr std::size_t most_more = 64;
  const std::size_t size = value.size();
  value.resize(size + most_more);
  value.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(value.data()), size, value.size()));
}

/// Writes a text into the buffer. Returns 0 if the text does not fit, or is empty.
std::size_t put(const std::string& text, std::uint8_t* data, std::size_t max_size) {
  if (text.empty() || text.size() > max_size) return 0;
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

}  // namespace
}  // namespace ddl

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  ddl::MutationRandom random(seed);
  if (random() % 4 != 0) {
    if (std::optional<ddl::Piece> whole = ddl::language.read(ddl::text_in(data, size))) {
      for (auto changes = 1 + random() % 3; changes > 0; --changes) ddl::mutate(*whole, random, ddl::change_bytes);
      if (const std::size_t written = ddl::put(ddl::language.write(*whole), data, max_size)) return written;
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t first_size,
                                                 const std::uint8_t* second, std::size_t second_size, std::uint8_t* out,
                                                 std::size_t max_size, unsigned seed) {
  ddl::MutationRandom random(seed);
  std::optional<ddl::Piece> whole = ddl::language.read(ddl::text_in(first, first_size));
  const std::optional<ddl::Piece> other = ddl::language.read(ddl::text_in(second, second_size));
  if (!whole || !other) return 0;
  ddl::cross(*whole, *other, random);
  return ddl::put(ddl::language.write(*whole), out, max_size);
}
