#include "core/gzip.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"

namespace ddl {

std::uint32_t checksum_of(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> values{};
    for (std::uint32_t i = 0; i < values.size(); ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value & 1U) != 0 ? 0xEDB88320U ^ (value >> 1U) : value >> 1U;
      values[i] = value;
    }
    return values;
  }();
  std::uint32_t sum = 0xFFFFFFFFU;
  for (const char c : bytes) sum = table[(sum ^ static_cast<std::uint8_t>(c)) & 0xFFU] ^ (sum >> 8U);
  return sum ^ 0xFFFFFFFFU;
}

namespace {

/// The reason why a file cannot be decompressed.
struct GzipProblem {
  const char* text;
};

/// The bits of a file, from the lowest bit of each byte on.
class BitSource {
 public:
  explicit BitSource(std::string_view bytes) : bytes_(bytes) {}
  std::uint32_t bits(int count) {
    std::uint32_t value = 0;
    for (int i = 0; i < count; ++i) value |= bit() << static_cast<unsigned>(i);
    return value;
  }
  std::uint32_t bit() {
    if (at_ >= bytes_.size()) throw GzipProblem{"the file ends early"};
    const std::uint32_t value = (static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes_[at_])) >> used_) & 1U;
    if (++used_ == 8) {
      used_ = 0;
      ++at_;
    }
    return value;
  }
  /// Skips to the next byte, and returns the next `count` bytes.
  std::string_view bytes(std::size_t count) {
    if (used_ > 0) {
      used_ = 0;
      ++at_;
    }
    if (count > bytes_.size() - std::min(at_, bytes_.size())) throw GzipProblem{"the file ends early"};
    const std::string_view found = bytes_.substr(at_, count);
    at_ += count;
    return found;
  }
  [[nodiscard]] bool ended() const { return at_ >= bytes_.size(); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  unsigned used_ = 0;
};

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8U | static_cast<std::uint8_t>(bytes[i]);
  return value;
}

constexpr int most_code_bits = 15;

/// A Huffman code of RFC 1951, section 3.2.2, given by the length of each symbol's code.
class HuffmanCode {
 public:
  explicit HuffmanCode(std::span<const std::uint8_t> lengths) {
    for (const std::uint8_t length : lengths) ++counts_[length];
    counts_[0] = 0;
    std::array<int, most_code_bits + 2> starts{};
    for (std::size_t bits = 1; bits <= most_code_bits; ++bits) starts[bits + 1] = starts[bits] + counts_[bits];
    symbols_.resize(static_cast<std::size_t>(starts[most_code_bits + 1]));
    for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
      if (lengths[symbol] > 0)
        symbols_[static_cast<std::size_t>(starts[lengths[symbol]]++)] = static_cast<std::uint16_t>(symbol);
    }
  }
  [[nodiscard]] unsigned next(BitSource& source) const {
    int code = 0, first = 0, index = 0;
    for (std::size_t bits = 1; bits <= most_code_bits; ++bits) {
      code |= static_cast<int>(source.bit());
      const int count = counts_[bits];
      if (code - count < first) {
        const auto at = static_cast<std::size_t>(index + code - first);
        if (at >= symbols_.size()) break;
        return symbols_[at];
      }
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    throw GzipProblem{"a code is invalid"};
  }

 private:
  std::array<int, most_code_bits + 1> counts_{};
  std::vector<std::uint16_t> symbols_;
};

class Inflater {
 public:
  Inflater(BitSource& source, std::string& into, std::size_t most) : source_(source), into_(into), most_(most) {}

  void run() {
    begin_ = into_.size();
    for (bool is_last = false; !is_last;) {
      is_last = source_.bit() != 0;
      switch (source_.bits(2)) {
        case 0:
          stored();
          break;
        case 1:
          fixed();
          break;
        case 2:
          dynamic();
          break;
        default:
          throw GzipProblem{"a block has an unknown type"};
      }
    }
  }

 private:
  void room_for(std::size_t count) const {
    if (count > most_ - std::min(most_, into_.size())) throw GzipProblem{nullptr};
  }

  void stored() {
    const std::string_view head = source_.bytes(4);
    const std::uint32_t length = little_endian(head.substr(0, 2));
    if ((length ^ 0xFFFFU) != little_endian(head.substr(2))) throw GzipProblem{"the length of a block is wrong"};
    room_for(length);
    into_ += source_.bytes(length);
  }

  void fixed() {
    std::array<std::uint8_t, 288> lengths{};
    for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    std::array<std::uint8_t, 30> distances{};
    distances.fill(5);
    block(HuffmanCode(lengths), HuffmanCode(distances));
  }

  void dynamic() {
    const std::size_t literals = source_.bits(5) + 257, distances = source_.bits(5) + 1, codes = source_.bits(4) + 4;
    constexpr std::array<std::uint8_t, 19> order{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    std::array<std::uint8_t, 19> code_lengths{};
    for (std::size_t i = 0; i < codes; ++i) code_lengths[order[i]] = static_cast<std::uint8_t>(source_.bits(3));
    const HuffmanCode of_lengths(code_lengths);
    std::vector<std::uint8_t> lengths;
    while (lengths.size() < literals + distances) {
      const unsigned symbol = of_lengths.next(source_);
      std::uint8_t repeated = 0;
      std::size_t times = 1;
      if (symbol < 16) {
        repeated = static_cast<std::uint8_t>(symbol);
      } else if (symbol == 16) {
        if (lengths.empty()) throw GzipProblem{"a repeated code length has no predecessor"};
        repeated = lengths.back();
        times = 3 + source_.bits(2);
      } else {
        times = symbol == 17 ? 3 + source_.bits(3) : 11 + source_.bits(7);
      }
      lengths.insert(lengths.end(), times, repeated);
    }
    if (lengths.size() > literals + distances) throw GzipProblem{"there are too many code lengths"};
    const std::span all(lengths);
    block(HuffmanCode(all.first(literals)), HuffmanCode(all.subspan(literals)));
  }

  void block(const HuffmanCode& literals, const HuffmanCode& distances) {
    constexpr std::array<std::uint16_t, 29> length_base{3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                                        31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    constexpr std::array<std::uint8_t, 29> length_bits{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                       2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    constexpr std::array<std::uint16_t, 30> distance_base{1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                                          33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                                          1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    while (true) {
      const unsigned symbol = literals.next(source_);
      if (symbol == 256) return;
      if (symbol < 256) {
        room_for(1);
        into_ += static_cast<char>(symbol);
        continue;
      }
      if (symbol - 257 >= length_base.size()) throw GzipProblem{"a match length is invalid"};
      const std::size_t length = length_base[symbol - 257] + source_.bits(length_bits[symbol - 257]);
      const unsigned far = distances.next(source_);
      if (far >= distance_base.size()) throw GzipProblem{"a match distance is invalid"};
      const std::size_t distance = distance_base[far] + source_.bits(far < 2 ? 0 : static_cast<int>(far / 2) - 1);
      if (distance > into_.size() - begin_) throw GzipProblem{"a match begins before the text"};
      room_for(length);
      for (std::size_t i = 0; i < length; ++i) into_ += into_[into_.size() - distance];
    }
  }

  BitSource& source_;
  std::string& into_;
  std::size_t most_, begin_ = 0;
};

/// Skips the header of a member (RFC 1952, section 2.3).
void skip_header(BitSource& source) {
  const std::string_view head = source.bytes(10);
  if (!is_gzip(head) || head[2] != 8) throw GzipProblem{"the header is not that of gzip"};
  const auto flags = static_cast<std::uint8_t>(head[3]);
  constexpr std::uint8_t has_checksum = 2, has_extra = 4, has_name = 8, has_comment = 16;
  if ((flags & has_extra) != 0) static_cast<void>(source.bytes(little_endian(source.bytes(2))));
  for (const std::uint8_t text : {has_name, has_comment}) {
    if ((flags & text) == 0) continue;
    while (source.bytes(1).front() != '\0') {}
  }
  if ((flags & has_checksum) != 0) static_cast<void>(source.bytes(2));
}

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1F\x8B"); }

std::string gunzip(std::string_view bytes, std::size_t most_bytes, const std::string& path) {
  std::string text;
  try {
    BitSource source(bytes);
    do {
      skip_header(source);
      const std::size_t begin = text.size();
      Inflater(source, text, most_bytes).run();
      const std::string_view tail = source.bytes(8);
      const std::string_view member = std::string_view(text).substr(begin);
      if (little_endian(tail.substr(0, 4)) != checksum_of(member) ||
          little_endian(tail.substr(4)) != static_cast<std::uint32_t>(member.size())) {
        throw GzipProblem{"the checksum is wrong"};
      }
    } while (!source.ended());
  } catch (const GzipProblem& problem) {
    if (problem.text == nullptr) {
      throw Error(fmt::format("{}: the decompressed file is longer than {} MiB", path, most_bytes >> 20U),
                  "use a shorter file");
    }
    throw Error(fmt::format("{}: this gzip file is damaged: {}", path, problem.text), "copy the file again");
  }
  return text;
}

}  // namespace ddl
