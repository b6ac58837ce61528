#include <vector>

#include "model_zoo/importers/onnx/view.hpp"
#include "tests/catch.hpp"

using namespace ddl;
using namespace ddl::onnx_import;

namespace {

using Sizes = std::vector<std::int64_t>;

/// Returns a view of two samples of 8 tokens of 12 channels.
View sequence() { return {.tensor = 0, .dimensions = {whole(batch, 2), whole(first_position, 8), whole(channels, 12)}}; }

}  // namespace

TEST_CASE("splitting and joining heads leaves no layers") {
  const auto split = reshaped(sequence(), Sizes{2, 8, 3, 4});
  REQUIRE(split);
  // There are 3 heads of 4 channels, and the head varies slower than the channel.
  CHECK(split->dimensions[2] == Dimension{{.axis = channels, .size = 3, .stride = 4}});
  CHECK(split->dimensions[3] == Dimension{{.axis = channels, .size = 4, .stride = 1}});
  const View turned = transposed(*split, Sizes{0, 2, 1, 3});
  CHECK(sizes_of(turned) == Sizes{2, 3, 8, 4});
  const auto joined = reshaped(transposed(turned, Sizes{0, 2, 1, 3}), Sizes{2, 8, 12});
  REQUIRE(joined);
  CHECK(joined->dimensions == sequence().dimensions);
}

TEST_CASE("batch and heads share a dimension as in nn.MultiheadAttention") {
  const auto split = reshaped(transposed(sequence(), Sizes{1, 0, 2}), Sizes{8, 6, 4});
  REQUIRE(split);
  CHECK(split->dimensions[1] ==
        Dimension{{.axis = batch, .size = 2, .stride = 1}, {.axis = channels, .size = 3, .stride = 4}});
}

TEST_CASE("a reshape that splits an axis unevenly is refused") {
  CHECK_FALSE(reshaped(sequence(), Sizes{2, 8, 5, 4}));
  CHECK_FALSE(reshaped(sequence(), Sizes{3, 64}));
  CHECK_FALSE(reshaped(sequence(), Sizes{2, 8, 6}));
  CHECK_FALSE(reshaped(sequence(), Sizes{2, 8, 12, 2}));
}

TEST_CASE("a slice has its offset, also on an axis that was split") {
  const auto third = sliced(sequence(), 2, 8, 4);
  REQUIRE(third);
  CHECK(third->offset[channels] == 8);
  CHECK_FALSE(is_whole(*third, 2, channels, {.channels = 12}));
  const auto split = reshaped(sequence(), Sizes{2, 8, 3, 4});
  const auto second = sliced(*split, 2, 1, 1);
  REQUIRE(second);
  CHECK(second->offset[channels] == 4);
  CHECK(second->dimensions[2].empty());
}

TEST_CASE("a view of a slice does not cover the whole tensor") {
  const TensorShape shape{.channels = 12, .extent = {8, 1, 1}, .rank = 1, .sequence = true};
  CHECK(sees_all(sequence(), shape));
  CHECK(sees_all(*reshaped(sequence(), Sizes{16, 12}), shape));
  CHECK_FALSE(sees_all(*sliced(sequence(), 1, 0, 1), shape));
}
