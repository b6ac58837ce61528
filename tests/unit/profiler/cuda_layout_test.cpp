#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "profiler/backends/cuda/layout.hpp"
#include "profiler/backends/cuda/management.hpp"
#include "profiler/backends/cuda/matrix_product.hpp"
#include "tests/catch.hpp"

using namespace ddl;
using namespace ddl::cuda;

namespace {

constexpr auto nhwc = ImageLayout::channels_last;
constexpr auto nchw = ImageLayout::channels_first;
using Sizes = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("strides follow the layout, and each element has a unique position") {
  CHECK(dense({2, 3, 5, 7}, nchw) == Extents{{2, 3, 5, 7}, {105, 35, 7, 1}});
  CHECK(dense({2, 3, 5, 7}, nhwc) == Extents{{2, 3, 5, 7}, {105, 1, 21, 3}});
  CHECK(dense({2, 3, 4, 5, 7}, nhwc) == Extents{{2, 3, 4, 5, 7}, {420, 1, 105, 21, 3}});
  for (const auto layout : {nchw, nhwc}) {
    const Extents extents = dense({2, 3, 4, 5}, layout);
    std::vector<int> used(static_cast<std::size_t>(extents.items()), 0);
    for (std::int64_t n = 0; n < 2; ++n) {
      for (std::int64_t c = 0; c < 3; ++c) {
        for (std::int64_t h = 0; h < 4; ++h) {
          for (std::int64_t w = 0; w < 5; ++w) {
            const auto& s = extents.strides;
            ++used.at(static_cast<std::size_t>(n * s[0] + c * s[1] + h * s[2] + w * s[3]));
          }
        }
      }
    }
    CHECK(used == std::vector<int>(used.size(), 1));
  }
}

TEST_CASE("a tensor inside a larger one spans more than its elements") {
  CHECK(dense({2, 3, 5, 7}, nhwc).reach() == 210);
  // Keys of 2 samples, 3 tokens and 2 heads of 4 channels are in rows of 24 elements. The last head
  // begins at 72 + 4 + 48 and ends 4 elements later.
  const Extents keys{{2, 2, 3, 4}, {72, 4, 24, 1}};
  CHECK(keys.items() == 48);
  CHECK(keys.reach() == 128);
}

TEST_CASE("the alignment of a part is a divisor of its offsets") {
  CHECK(alignment_of({}, Precision::fp32) == 256);
  CHECK(alignment_of({64, 128}, Precision::fp32) == 256);
  CHECK(alignment_of({64, 20}, Precision::fp32) == 16);  // 80 bytes
  CHECK(alignment_of({64, 20}, Precision::bf16) == 8);   // 40 bytes
}

TEST_CASE("images with fewer than two dimensions get two dimensions") {
  CHECK(image({.channels = 3, .extent = {9, 1, 1}, .rank = 1}, 2, nchw).sizes == Sizes{2, 3, 1, 9});
  CHECK(image({.channels = 10}, 2, nhwc).sizes == Sizes{2, 10, 1, 1});
  CHECK(image({.channels = 3, .extent = {4, 5, 6}, .rank = 3}, 2, nchw).sizes == Sizes{2, 3, 4, 5, 6});
  CHECK(window_sizes({3, 1, 1}, 1, 0) == Sizes{0, 3});
  CHECK(filters(8, 4, {3, 5, 1}, 2, nhwc) == Extents{{8, 4, 3, 5}, {60, 1, 20, 4}});
}

TEST_CASE("exchanging channels and positions is undone by the reverse exchange") {
  std::vector<float> values(2 * 37 * 70);
  std::iota(values.begin(), values.end(), 0.0F);
  std::vector<float> turned(values.size());
  exchange(values, turned, 37, 70);
  CHECK(turned[70 * 37 + 1] == values[70 * 37 + 70]);  // the second element of the second sample is channel 1 of position 0
  std::vector<float> back(values.size());
  exchange(turned, back, 70, 37);
  CHECK(back == values);
}

TEST_CASE("padding is symmetric if the sizes allow it") {
  const auto rim = [](const std::string& line) {
    const Problem problem = parse_problem(line, "test");
    const TensorShape& input = problem.inputs.front();
    return rim_behind(window_geometry(*problem.operation, input, problem.output), input, problem.output)[0];
  };
  // 8 + 2·1 - 3 = 7, so windows begin at 0, 2, 4 and 6. One position is left over, in the padding at the end.
  CHECK(rim("convolution filters=1 kernel=3 stride=2 padding=1 in=1x8x8") == 1);
  // `same` padding on 6 positions with stride 2 needs 3 windows: 2·2 + 3 - 6 = 1, which is added at the end.
  CHECK(rim("convolution filters=1 kernel=3 stride=2 padding=same in=1x6x6") == 1);
  // Half of the last of 3 windows is outside: 2·2 + 2 - 5 = 1.
  CHECK(rim("pool kind=max kernel=2 ceil=yes in=1x5x5") == 1);
  CHECK(rim("pool kind=max kernel=2 in=1x5x5") == 0);
}

TEST_CASE("every 16-bit number survives the conversion to fp32 and back") {
  for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
    const auto word = static_cast<std::uint16_t>(bits);
    if (const float value = from_fp16(word); !std::isnan(value) && to_fp16(value) != word) FAIL("fp16 " << bits);
    if (const float value = from_bf16(word); !std::isnan(value) && to_bf16(value) != word) FAIL("bf16 " << bits);
  }
  CHECK(std::isnan(from_fp16(to_fp16(std::numeric_limits<float>::quiet_NaN()))));
  CHECK(std::isnan(from_bf16(to_bf16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST_CASE("fp32 is rounded to the nearest, ties to even") {
  // These are known values of IEEE 754 binary16.
  CHECK(to_fp16(1.0F) == 0x3c00U);
  CHECK(to_fp16(-2.0F) == 0xc000U);
  CHECK(to_fp16(65504.0F) == 0x7bffU);
  CHECK(to_fp16(65519.996F) == 0x7bffU);
  CHECK(to_fp16(65520.0F) == 0x7c00U);
  CHECK(to_fp16(1e30F) == 0x7c00U);
  CHECK(to_fp16(0x1p-24F) == 0x0001U);
  CHECK(to_fp16(0x1p-25F) == 0x0000U);  // half way to the smallest number, rounded to even
  CHECK(to_fp16(0x1.8p-25F) == 0x0001U);
  CHECK(to_fp16(0x1.ff8p-15F) == 0x03ffU);  // the largest subnormal number
  CHECK(to_fp16(0x1.ffcp-15F) == 0x0400U);  // half way to the first normal number
  CHECK(to_fp16(1.0F + 0x1p-11F) == 0x3c00U);
  CHECK(to_fp16(1.0F + 0x1.8p-10F) == 0x3c02U);
  CHECK(to_bf16(1.0F + 0x1p-8F) == 0x3f80U);
  CHECK(to_bf16(1.0F + 0x1.8p-7F) == 0x3f82U);
}

TEST_CASE("decoding a buffer returns the encoded values, and zeros and ones for masks") {
  const std::vector<float> values{1.0F, -2.0F, 0.0F, 0.5F, 3.0F};
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16}) {
    std::vector<float> back(values.size());
    decode(encode(values, precision, false), precision, false, back);
    CHECK(back == values);
  }
  std::vector<float> mask(values.size());
  decode(encode(values, Precision::bf16, true), Precision::bf16, true, mask);
  CHECK(mask == std::vector<float>{1, 1, 0, 1, 1});
  CHECK(buffer_bytes(5, Precision::fp32, false) == 32);
  CHECK(buffer_bytes(5, Precision::bf16, false) == 16);
  CHECK(buffer_bytes(17, Precision::fp32, true) == 32);
}

TEST_CASE("a row-major product is the column-major product of the exchanged matrices") {
  using Matrix = ColumnProduct::Matrix;
  // x (rows × from) · Wᵀ (W: to × from) is the forward product of a fully connected layer. The
  // first matrix of cuBLASLt is the transpose of W.
  const ColumnProduct forward = by_columns({.m = 10, .n = 5, .k = 7, .b_transposed = true});
  CHECK(forward.first == Matrix{7, 5, 7, 35, true});
  CHECK(forward.second == Matrix{7, 10, 7, 70, false});
  CHECK(forward.result == Matrix{5, 10, 5, 50, false});
  const ColumnProduct weights = by_columns({.m = 5, .n = 7, .k = 10, .a_transposed = true});
  CHECK(weights.first == Matrix{7, 10, 7, 70, false});
  CHECK(weights.second == Matrix{5, 10, 5, 50, true});
  CHECK(weights.result == Matrix{7, 5, 7, 35, false});
}

TEST_CASE("the reasons for lower clocks are named") {
  CHECK(slowdown_names(0) == "none");
  CHECK(slowdown_names(0x4 | 0x40) == "power cap, hardware thermal slowdown");
}
