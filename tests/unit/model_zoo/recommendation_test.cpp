#include <numeric>
#include <string>
#include <vector>

#include "model_zoo/files/dataset.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

namespace recommendation_tests {

using namespace ddl;

TEST_CASE("DLRM has the tables and layers of MLPerf's DLRM") {
  // Rows of the 26 tables with at most 40 million rows each, and layers 13-512-256-128 and 479-1024-1024-512-256-1, as
  // printed by github.com/facebookresearch/dlrm, dlrm_s_pytorch.py (ln_emb, ln_bot, ln_top for max_ind_range 40,000,000).
  const std::vector<std::int64_t> rows{39884406, 39043,    17289,    7420,     20263,  3,     7120, 1543, 63,
                                       38532951, 2953546,  403346,   10,       2208,   11938, 155,  4,    976,
                                       14,       39979771, 25641295, 39664984, 585935, 12972, 108,  36};
  const Model model = load_model("dlrm");
  std::vector<std::int64_t> tables;
  std::vector<std::int64_t> features;
  int categories = 0;
  for (const Layer& layer : model.layers) {
    if (layer.operation->type() == "embedding") tables.push_back(layer.weights / 128);
    if (layer.operation->type() == "fully_connected") features.push_back(layer.output_shape.channels);
    if (layer.operation->type() == "input") ++categories;
    // 27 vectors have 27·26/2 = 351 pairs. The output has 351 + 128 elements.
    if (layer.operation->type() == "interaction") CHECK(layer.output_shape == TensorShape{.channels = 479});
  }
  CHECK(tables == rows);
  CHECK(categories == 26);
  CHECK(features == std::vector<std::int64_t>{512, 256, 128, 1024, 1024, 512, 256, 1});
  const std::int64_t in_tables = 128 * std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  CHECK(in_tables == 24'034'227'072);
  const std::int64_t bottom = (13 * 512 + 512) + (512 * 256 + 256) + (256 * 128 + 128);
  const std::int64_t top = (479 * 1024 + 1024) + (1024 * 1024 + 1024) + (1024 * 512 + 512) + (512 * 256 + 256) + (256 + 1);
  CHECK(model.parameters() == in_tables + bottom + top);
  // The matrices and T·Tᵀ have multiplications. Lookups have none.
  CHECK(model.macs() ==
        13 * 512 + 512 * 256 + 256 * 128 + 27 * 27 * 128 + 479 * 1024 + 1024 * 1024 + 1024 * 512 + 512 * 256 + 256);
  CHECK(model.input == load_dataset("criteo-1tb").sample);
}

TEST_CASE("interaction multiplies each pair of vectors") {
  const std::string two = "  - fully_connected: 4\n    name: a\n  - fully_connected: 4\n    name: b\n    from: input\n";
  const Layer layer = layer_of("{features: 4}", two + "  - interaction:\n    from: [input, a, b]\n");
  // The output is the first vector and three pairs.
  CHECK(to_string(layer.output_shape) == "7");
  CHECK(layer.parameters() == 0);
  CHECK(layer.operation->macs(layer.input_shapes, layer.output_shape) == 3 * 3 * 4);
  const Work forward = work_of(layer, Pass::forward);
  CHECK(forward.flops == 2 * 3 * 3 * 4);
  CHECK((forward.m == 3 && forward.n == 3 && forward.k == 4 && forward.batched == Work::Batched::count));
  // T is written and read, and then read again. 9 products are written. The 7 elements of the output are read and written.
  CHECK(forward.activation_items == 3 * 12 + 9 + 2 * 7);
  // Backward has twice the products. Two gradients and the gradient of the first vector are added.
  const Work backward = work_of(layer, Pass::backward_data);
  CHECK(backward.flops == 2 * 2 * 36 + 12 + 4);
  // The gradient of the 3 × 3 products is multiplied by the three vectors of 4 elements.
  CHECK((backward.m == 3 && backward.n == 4 && backward.k == 3 && backward.batched == Work::Batched::count));
  CHECK(work_of(layer, Pass::backward_weight).flops == 0);
  // T is kept, but not the vectors from which it is built.
  CHECK_FALSE(kept_of(layer).input);
  CHECK(kept_of(layer).extra_items == 12);
  CHECK_FALSE(layer.operation->divisible().channelwise);
}

TEST_CASE("interaction keeps what PyTorch saves") {
  // On PyTorch 1.13 with 27 vectors of 128 elements, as in DLRM, T has 13,824 bytes and the indices
  // have 2,808 bytes, for any batch.
  const Model model = load_model("dlrm");
  for (const Layer& layer : model.layers) {
    if (layer.operation->type() == "interaction") CHECK(4 * kept_of(layer).extra_items == 13'824);
  }
}

TEST_CASE("interaction refuses inputs that are not vectors of one length") {
  const auto error_in = [](const std::string& input, const std::string& items) {
    return error_of([&] { (void)model_of(input, items); });
  };
  CHECK(error_in("{features: 4}", "  - interaction\n").find("interaction takes two or more inputs, not 1") !=
        std::string::npos);
  CHECK(error_in("{features: 4}", "  - fully_connected: 5\n    name: a\n  - interaction:\n    from: [input, a]\n")
            .find("interaction needs inputs of the same shape, not 4 and 5") != std::string::npos);
  CHECK(error_in("{channels: 4, tokens: 3}", "  - interaction:\n    from: [input, input]\n")
            .find("interaction needs flat vectors, not 4 over 3 tokens") != std::string::npos);
}

}  // namespace recommendation_tests
