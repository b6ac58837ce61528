#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/imported_models.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

namespace recurrent_types_tests {

using namespace ddl;

namespace {

std::int64_t parameters_of(const std::string& keys) { return model_of_text("{" + keys + "}").parameters(); }

/// Returns a list of `count` names, each `usual` but every `period`-th one from `first` on, which is `other`.
std::string list_of(int count, const std::string& usual, const std::string& other, int period, int first) {
  std::string list = "[";
  for (int i = 0; i < count; ++i) list += (i > 0 ? ", " : "") + (i >= first && (i - first) % period == 0 ? other : usual);
  return list + "]";
}

}  // namespace

TEST_CASE("Jamba has the published number of parameters, with and without experts") {
  // ai21labs/Jamba-v0.1 has 51.57 billion weights, and AI21-Jamba-1.5-Large 398.56 billion. The counts are those of
  // transformers 5.24.
  CHECK(parameters_of(R"("model_type": "jamba")") == 51'570'323'328);
  CHECK(parameters_of(R"("model_type": "jamba", "hidden_size": 8192, "intermediate_size": 24576, "num_hidden_layers": 72,
                         "num_attention_heads": 64, "mamba_dt_rank": 512)") == 398'555'145'696);
  // One expert stands for a perceptron.
  CHECK(parameters_of(R"("model_type": "jamba", "num_experts": 1, "num_hidden_layers": 8, "hidden_size": 512,
                         "intermediate_size": 1024, "mamba_dt_rank": "auto", "mamba_conv_bias": false,
                         "mamba_proj_bias": true, "tie_word_embeddings": true)") == 58'675'648);
  const Model jamba = model_of_text(R"({"model_type": "jamba", "num_hidden_layers": 8, "max_position_embeddings": 4096})");
  int scans = 0, attentions = 0, routers = 0, rotations = 0;
  for (const Layer& layer : jamba.layers) {
    scans += layer.operation->type() == "mamba1" ? 1 : 0;
    attentions += layer.operation->is_attention() ? 1 : 0;
    routers += layer.operation->type() == "router" ? 1 : 0;
    rotations += layer.operation->type() == "rotary_embedding" ? 1 : 0;
  }
  CHECK(scans == 7);
  CHECK(attentions == 1);
  CHECK(routers == 4);
  CHECK(rotations == 0);
  CHECK(refusal_of(R"({"model_type": "jamba", "attn_layer_offset": 8})").find("attn_layer_offset") != std::string::npos);
}

TEST_CASE("Mamba and Falcon Mamba have the number of parameters that transformers builds") {
  // The counts are those of transformers 5.24: state-spaces/mamba-130m-hf and mamba-2.8b-hf, and tiiuae/falcon-mamba-7b.
  CHECK(parameters_of(R"("model_type": "mamba", "num_hidden_layers": 24)") == 129'135'360);
  CHECK(parameters_of(R"("model_type": "mamba", "hidden_size": 2560, "num_hidden_layers": 64)") == 2'768'345'600);
  for (const std::string text :
       {R"({"model_type": "mamba", "time_step_rank": "full"})", R"({"model_type": "jamba", "mamba_dt_rank": "full"})",
        R"({"model_type": "zamba", "mamba_dt_rank": "full"})"}) {
    CHECK(refusal_of(text).find("a number, or auto") != std::string::npos);
  }
  CHECK(refusal_of(R"({"model_type": "mamba", "ssm_cfg": {"layer": "Mamba2"}})").find("ssm_cfg") != std::string::npos);
  CHECK(parameters_of(R"("model_type": "mamba", "ssm_cfg": {}, "num_hidden_layers": 24)") == 129'135'360);
  CHECK(parameters_of(R"("model_type": "falcon_mamba", "hidden_size": 4096, "num_hidden_layers": 64, "vocab_size": 65024,
                         "tie_word_embeddings": false)") == 7'272'665'088);
}

TEST_CASE("MiniMax-Text-01 has the published number of parameters, in the authors' form and in the library's") {
  // MiniMaxAI/MiniMax-Text-01 has 456 billion weights. The count is that of transformers 5.24.
  const std::string sizes = R"("hidden_size": 6144, "intermediate_size": 9216, "num_hidden_layers": 80,
      "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 200064, "num_local_experts": 32)";
  CHECK(parameters_of(R"("model_type": "minimax", )" + sizes + R"(, "layer_types": )" +
                      list_of(80, "\"linear_attention\"", "\"full_attention\"", 8, 7)) == 456'089'655'296);
  CHECK(parameters_of(
            R"("model_type": "minimax_text_01", "postnorm": true, "shared_intermediate_size": 0, "rotary_dim": 64, )" +
            sizes + R"(, "attn_type_list": )" + list_of(80, "0", "1", 8, 7)) == 456'089'655'296);
  CHECK(parameters_of(R"("model_type": "minimax")") == 47'373'946'880);
  CHECK(refusal_of(R"({"model_type": "minimax", "num_hidden_layers": 3, "attn_type_list": [0, 1]})")
            .find("'attn_type_list' has 2 entries, but there are 3 layers") != std::string::npos);
}

TEST_CASE("Zamba has the number of parameters that transformers builds, with one and two shared blocks") {
  // The counts are those of transformers 5.24: Zyphra/Zamba2-1.2B, with adapters of queries, keys and values; 2.7B and 7B,
  // with two blocks; and Zyphra/Zamba-7B-v1.
  CHECK(parameters_of(R"("model_type": "zamba2", "hidden_size": 2048, "num_hidden_layers": 38, "n_mamba_heads": 64,
                         "use_shared_attention_adapter": true, "use_mem_rope": true, "mamba_d_state": 128,
                         "layers_block_type": )" +
                      list_of(38, "\"mamba\"", "\"hybrid\"", 6, 5)) == 1'215'064'704);
  CHECK(parameters_of(R"("model_type": "zamba2", "n_mamba_heads": 80, "num_mem_blocks": 2)") == 2'662'214'560);
  CHECK(parameters_of(R"("model_type": "zamba2", "hidden_size": 3584, "num_hidden_layers": 81, "n_mamba_heads": 112,
                         "num_mem_blocks": 2, "mamba_ngroups": 2,
                         "hybrid_layer_ids": [6, 11, 17, 23, 29, 35, 41, 47, 53, 59, 65, 71, 77])") == 7'356'749'648);
  CHECK(parameters_of(R"("model_type": "zamba")") == 7'232'490'496);
  // Later uses of a block run its matrices again.
  const Model model = model_of_text(R"({"model_type": "zamba2", "n_mamba_heads": 80, "num_mem_blocks": 2})");
  const Layer& first = layer_of(model, "first.shared.gate.whole");
  int uses = 0;
  for (const Layer& layer : model.layers) {
    const bool is_use = layer.tied_to >= 0 && &model.layers[static_cast<std::size_t>(layer.tied_to)] == &first;
    uses += is_use ? 1 : 0;
    if (is_use) CHECK(work_of(layer, Pass::forward).flops == work_of(first, Pass::forward).flops);
  }
  CHECK(uses == 4);  // five of nine uses are of the first block
  CHECK(
      refusal_of(R"({"model_type": "zamba2", "n_mamba_heads": 80, "num_mem_blocks": 3})").find("one or two shared blocks") !=
      std::string::npos);
}

TEST_CASE("DeBERTa has the number of parameters that transformers builds, with each head") {
  // The counts are those of transformers 5.24: microsoft/deberta-v3-base (184 million), deberta-v3-large and deberta-base.
  const std::string shared = R"("relative_attention": true, "position_biased_input": false, "pos_att_type": "p2c|c2p")";
  const std::string v3 = R"("model_type": "deberta-v2", "position_buckets": 256, "norm_rel_ebd": "layer_norm",
                            "share_att_key": true, )" +
                         shared;
  const std::string base = R"(, "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
                               "num_attention_heads": 12)";
  const auto head = [](const std::string& name) { return R"(, "architectures": [")" + name + R"("])"; };
  CHECK(parameters_of(v3 + base + head("DebertaV2Model")) == 183'831'552);
  CHECK(parameters_of(v3 + base + head("DebertaV2ForMaskedLM")) == 184'551'780);
  CHECK(parameters_of(v3 + base + head("DebertaV2ForSequenceClassification")) == 184'423'682);
  CHECK(parameters_of(v3 + R"(, "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16)" +
                      head("DebertaV2Model")) == 434'012'160);
  CHECK(parameters_of(v3 + R"(, "conv_kernel_size": 3, "conv_act": "gelu")" + head("DebertaV2Model")) == 884'593'152);
  CHECK(parameters_of(R"("model_type": "deberta", )" + shared + head("DebertaModel")) == 138'601'728);
  CHECK(parameters_of(R"("model_type": "deberta", )" + shared + head("DebertaForMaskedLM")) == 139'244'121);
  // Without shared matrices, each layer has matrices of positions.
  CHECK(parameters_of(R"("model_type": "deberta-v2", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
                         "num_attention_heads": 2, "vocab_size": 1000, "relative_attention": true,
                         "pos_att_type": ["p2c", "c2p"], "max_position_embeddings": 32)" +
                      head("DebertaV2Model")) == 153'856);
  // A list with one term: each of two layers lacks a matrix of 64 × 64 for positions, and with p2c its bias.
  const auto one_term = [&](const std::string& terms) {
    return parameters_of(R"("model_type": "deberta", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
                            "num_attention_heads": 2, "relative_attention": true, "pos_att_type": )" +
                         terms + head("DebertaModel"));
  };
  CHECK(one_term(R"(["p2c", "c2p"])") - one_term(R"(["p2c"])") == 2 * 64 * 64);
  CHECK(one_term(R"(["p2c"])") - one_term(R"(["c2p"])") == 2 * 64);
  CHECK(refusal_of(R"({"model_type": "deberta-v2"})").find("known are c2p and p2c") != std::string::npos);
}

TEST_CASE("Files of flash-linear-attention have the defaults of this library") {
  // Each block has four matrices of D × D, three of D × 5632, two norms; two embeddings of 32,000 words, and a norm.
  const std::int64_t d = 2048, width = 5632;  // 256 × ⌈(4 × 2048 × 2 / 3) / 256⌉ (fla/modules/mlp.py)
  CHECK(parameters_of(R"("model_type": "transformer", "num_kv_heads": null, "intermediate_size": null)") ==
        24 * (4 * d * d + 3 * d * width + 2 * d) + 2 * 32000 * d + d);
  CHECK(parameters_of(R"("model_type": "transformer", "num_kv_heads": 8, "tie_word_embeddings": true)") ==
        24 * (2 * d * d + 2 * d * d / 4 + 3 * d * width + 2 * d) + 32000 * d + d);
  CHECK(refusal_of(R"({"model_type": "transformer", "window_size": 512})").find("attends to all tokens") !=
        std::string::npos);
  // The heads of Mamba-2 follow from the width; transformers has 128 unless the file says otherwise.
  const std::string sizes = R"("model_type": "mamba2", "hidden_size": 1024, "num_hidden_layers": 2, "n_groups": 1)";
  CHECK(parameters_of(sizes + R"(, "vocab_size": 32000, "fuse_norm": true)") ==
        parameters_of(sizes + R"(, "vocab_size": 32000, "num_heads": 32)"));
  CHECK(refusal_of("{" + sizes + "}").find("write 'num_heads'") != std::string::npos);
}

TEST_CASE("RWKV-7 has the published number of parameters") {
  // Peng et al., "RWKV-7 'Goose' with expressive dynamic state evolution", arXiv 2503.14456: 2DV + 4D + LD(12D + 2(w + a + v
  // + g) + 19) - (2Dv + D) parameters, for V words, L layers of D channels and ranks w, a, v and g.
  const auto count = [](std::int64_t l, std::int64_t d, std::int64_t w, std::int64_t v, std::int64_t g) {
    return 2 * d * 65536 + 4 * d + l * d * (12 * d + 2 * (2 * w + v + g) + 19) - (2 * d * v + d);
  };
  CHECK(count(32, 2560, 96, 64, 320) == 2'947'735'040);
  CHECK(parameters_of(R"("model_type": "rwkv7", "hidden_size": 768, "num_hidden_layers": 12)") ==
        count(12, 768, 64, 32, 128));
  CHECK(parameters_of(R"("model_type": "rwkv7", "hidden_size": 2560, "num_hidden_layers": 32, "decay_low_rank_dim": 96,
                         "a_low_rank_dim": 96, "v_low_rank_dim": 64, "gate_low_rank_dim": 320)") == 2'947'735'040);
  CHECK(load_model("rwkv7-0.1b").parameters() == count(12, 768, 64, 32, 128));
  CHECK(load_model("rwkv7-0.4b").parameters() == 450'767'872);
  CHECK(load_model("rwkv7-1.5b").parameters() == 1'527'404'544);
  CHECK(load_model("rwkv7-2.9b").parameters() == 2'947'735'040);
  CHECK(refusal_of(R"({"model_type": "rwkv7", "attn": {"layers": [1]}})").find("all layers of the family") !=
        std::string::npos);
  const auto heads = [](std::string_view count) {
    return refusal_of(fmt::format(R"({{"model_type": "rwkv7", "hidden_size": 64, "head_dim": null,
                                        "num_heads": {}}})",
                                  count));
  };
  CHECK(heads("65").find("64 channels are not divisible by 65 heads") != std::string::npos);
  CHECK(heads("7").find("64 channels are not divisible by 7 heads") != std::string::npos);
  CHECK(parameters_of(R"("model_type": "rwkv7", "hidden_size": 64, "head_dim": null, "num_heads": 64)") > 0);
  // The six shifts of a mixer keep the tensor, and one difference from the previous tokens.
  double differences = 0;
  const Model small = load_model("rwkv7-0.1b");
  for (const Layer& layer : small.layers) {
    if (layer.operation->type() == "token_shift") {
      const Kept kept = layer.operation->kept(layer.input_shapes, layer.output_shape);
      differences += kept.extra_items / static_cast<double>(layer.output_shape.items());
    }
  }
  CHECK(differences == 12);
}

/// Returns the FLOPs of the matrix products and of the products inside chunks.
double product_flops(const Layer& layer, Pass pass) {
  double flops = 0;
  for (const Work& kernel : layer.operation->kernels(pass, layer.input_shapes, layer.output_shape))
    if (kernel.m > 0 || kernel.kind == KernelKind::chunk_scan) flops += kernel.flops;
  return flops;
}

TEST_CASE("products of recurrent mixers have FLOPs of known size, and ranks with half of the heads have half of them") {
  struct Case {
    std::string input, items;
    std::int64_t parameters, units;
    double macs;
    std::array<double, 3> products;  ///< FLOPs of forward, of backward for data, and for weights
  };
  // There are 512 tokens. A rank has half of the channels of the input and of the output.
  const double tokens = 512;
  const Case cases[] = {
      // Eight channels with a window of 4 tokens and its bias, a matrix to 3 + 2 · 5 numbers, one from 3, decays of five
      // numbers, a share and a bias of the step; and scales of 13 norms.
      {"{channels: 16, tokens: 512}",
       "  - mamba1: {state: 5, rank: 3, norms: trained}\n",
       8 * (5 + 13 + 3 + 5 + 2) + 13,
       0,
       tokens * 8 * (4 + 13 + 3 + 2 * 5),
       // 2 · 512 · 8 · (13 + 3) in each pass.
       {131'072, 131'072, 131'072}},
      // Each of two heads makes 13 numbers of four channels, so that the products are as large as with one head.
      {"{channels: 16, tokens: 512}",
       "  - mamba1: {state: 5, rank: 3, heads: 2, norms: trained}\n",
       8 * (5 + 13 + 3 + 5 + 2) + 13,
       2,
       tokens * 8 * (4 + 13 + 3 + 2 * 5),
       {131'072, 131'072, 131'072}},
      // Queries, keys and values of four heads of 6; a chunk of 64 tokens.
      {"{channels: 72, tokens: 512}",
       "  - linear_attention: {heads: 4, chunk: 64, norm: yes}\n",
       24,
       4,
       tokens * 24 * (1.5 * 64 + 2 * 6),
       // Of each token and head: 2 · 64 · 6 for queries and keys, half as much for values, and 2 · 36 for a product with
       // a state. Forward has one, one and two of them; backward three, three and five.
       {2048 * (768 + 384 + 2 * 72), 2048 * (3 * 768 + 3 * 384 + 5 * 72), 0}},
  };
  for (const Case& each : cases) {
    INFO(each.items);
    const Layer layer = ddl::layer_of(each.input, each.items);
    CHECK(layer.parameters() == each.parameters);
    CHECK(layer.operation->divisible().channel_units == each.units);
    CHECK(layer.operation->macs(layer.input_shapes, layer.output_shape) == Approx(each.macs).epsilon(1e-12));
    TensorShape input = layer.input_shapes.front(), output = layer.output_shape;
    input.channels /= 2;
    output.channels /= 2;
    const std::vector<TensorShape> inputs{input};
    const Operation::Local local = layer.operation->local(inputs, output);
    const Operation& half = local.operation ? *local.operation : *layer.operation;
    CHECK(half.infer(inputs) == output);
    for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
      CHECK(product_flops(layer, pass) == each.products[static_cast<std::size_t>(pass)]);
      const double flops = work_of(layer, pass).flops;
      CHECK(half.work(pass, inputs, output).flops >= 0.5 * flops * (1 - 1e-12));
      CHECK(half.work(pass, inputs, output).flops <= 0.6 * flops);
    }
    CHECK(kept_of(layer).input);
  }
}

TEST_CASE("the mixer of RWKV-7 reads tensors of one shape, with the first values in all layers but the first") {
  const std::string input = "{channels: 24, tokens: 512}";
  const std::string six = "  - rwkv7: 4\n    from: [input, input, input, input, input, input]\n";
  const std::string eight = "  - rwkv7: 4\n    from: [input, input, input, input, input, input, input, input]\n";
  const Layer first = ddl::layer_of(input, six), later = ddl::layer_of(input, eight);
  CHECK(first.parameters() == 5 * 24);
  CHECK(work_of(later, Pass::forward).activation_items == work_of(first, Pass::forward).activation_items + 6 * 512 * 24);
  CHECK(kept_of(later).extra_items == kept_of(first).extra_items + 2 * 512 * 24);
  // For each pair of a chunk of 16 tokens four products over 6 channels, and four products with halves of the pairs; a third
  // of the cube of a chunk; and four products with the states.
  const double macs = 512 * 24 * (4 * 16 + 4 * 8 + 4 * 6) + 512.0 * 4 * (16 * 16 - 1) / 3;
  CHECK(first.operation->macs(first.input_shapes, first.output_shape) == Approx(macs).epsilon(1e-12));
  CHECK(product_flops(first, Pass::forward) == Approx(2 * macs).epsilon(1e-12));
  CHECK(product_flops(first, Pass::forward) == 3'297'280);
  CHECK(product_flops(first, Pass::backward_data) == 10'743'808);
  CHECK(error_of([&] {
          static_cast<void>(ddl::layer_of(input, "  - rwkv7: 4\n    from: [input, input]\n"));
        }).find("six or eight inputs, not 2") != std::string::npos);
  CHECK(error_of([&] {
          static_cast<void>(ddl::layer_of(input, "  - rwkv7: 5\n    from: [input, input, input, input, input, input]\n"));
        }).find("24 channels do not divide into 5 heads") != std::string::npos);
}

TEST_CASE("disentangled attention adds products with relative positions to those of attention") {
  const std::string input = "{channels: 72, tokens: 512}";
  const Layer plain = ddl::layer_of(input, "  - attention: {heads: 4, padded: yes}\n");
  const Layer layer = ddl::layer_of(
      input,
      "  - disentangled_attention: {heads: 4, positions: 128, padded: yes, matrices: 2, matrix_biases: 1, table: yes}\n");
  // Two matrices and a bias of the layer's own, and a table of 128 rows.
  CHECK(layer.parameters() == 2 * 24 * 24 + 24 + 128 * 24);
  CHECK(layer.operation->macs(layer.input_shapes, layer.output_shape) ==
        plain.operation->macs(plain.input_shapes, plain.output_shape) + 2.0 * 512 * 128 * 24);
  CHECK(kept_of(layer).extra_items == kept_of(plain).extra_items + 2 * 128 * 24);
  double products = 0;
  for (const Work& kernel : layer.operation->kernels(Pass::forward, layer.input_shapes, layer.output_shape))
    if (kernel.n == 128) products += kernel.flops;
  CHECK(products == 2 * 2.0 * 512 * 128 * 24);
  // In the first version, 32 tokens are multiplied with the 64 positions that two of them can have.
  const Layer nearest = ddl::layer_of("{channels: 72, tokens: 32}",
                                      "  - disentangled_attention: {heads: 4, positions: 128, nearest: yes, padded: yes}\n");
  products = 0;
  for (const Work& kernel : nearest.operation->kernels(Pass::forward, nearest.input_shapes, nearest.output_shape))
    if (kernel.n == 64) products += kernel.flops;
  CHECK(products == 2 * 2.0 * 32 * 64 * 24);
  CHECK(layer.operation->is_attention());
}

TEST_CASE("a mixer of Mamba without trained norms recomputes its convolution and its step sizes") {
  const std::string input = "{channels: 32, tokens: 4096}";
  const Layer fused = ddl::layer_of(input, "  - mamba1: {state: 4, rank: 2}\n");
  const Layer separate = ddl::layer_of(input, "  - mamba1: {state: 4, rank: 2, norms: trained}\n");
  // 2 + 2 · 4 numbers of each token, B and C; and a state for each 2,048 tokens.
  CHECK(kept_of(fused).extra_items == 4096 * (10 + 8));
  CHECK(kept_of(fused).statistics == 2 * 2 * 16 * 4);
  CHECK(kept_of(separate).extra_items == 4096 * (3 * 16 + 10 + 10 + 8));
  CHECK(error_of([&] {
          static_cast<void>(ddl::layer_of("{channels: 33, tokens: 8}", "  - mamba1: {rank: 2}\n"));
        }).find("33 channels are not values and a gate of 1 heads") != std::string::npos);
}

}  // namespace recurrent_types_tests
