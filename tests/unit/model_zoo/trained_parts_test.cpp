#include "model_zoo/network/trained_parts.hpp"

#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/input_gradient.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace trained_parts_tests {

namespace {

using namespace ddl;

const Layer& layer_of(const Model& model, std::string_view name) {
  for (const Layer& layer : model.layers) {
    if (layer.name == name) return layer;
  }
  FAIL("no layer " << name);
  return model.layers.front();
}

TEST_CASE("adapters of rank r add r rows and r columns to each matrix, and only adapters are trained") {
  const Model whole = load_model("llama2-7b"), adapted = load_model("llama2-7b@lora=16");
  // Each of 32 layers has matrices of 4096 × 4096 for queries, keys, values and the projection, gate and up of 4096 × 11008,
  // and down of 11008 × 4096 [Touvron et al. 2023]. An adapter has r·(rows + columns) weights.
  const std::int64_t ranks = 32 * 16 * (4 * (4096 + 4096) + 3 * (4096 + 11008));
  CHECK(adapted.parameters() == whole.parameters() + ranks);
  CHECK(adapted.trained_parameters() == ranks);
  CHECK(whole.trained_parameters() == whole.parameters());
  CHECK(adapted.name == "llama2-7b@lora=16");
  CHECK(is_frozen(adapted, layer_of(adapted, "embedding")));
  CHECK(!is_frozen(adapted, layer_of(adapted, "layer0.qkv")));
  CHECK(is_frozen(adapted, layer_of(adapted, "head")));
  // The paper states 18 million weights of 175 billion for queries and values of GPT-3 with r = 4
  // [Hu et al. 2022, table 4: 18.9 M with keys and values fused in another way]. Here, queries,
  // keys and values are one matrix: 96 · 4 · (12288 + 3 · 12288).
  const Model queries = load_model("gpt3-175b@lora=4@lora_layers=qkv");
  CHECK(queries.trained_parameters() == 96 * 4 * (12288 + 3 * 12288));
}

TEST_CASE("queries, keys and values have an adapter each, unless the library joins their matrices") {
  const auto trained = [](const char* name) { return load_model(name).trained_parameters(); };
  // Each of 32 layers of Llama 3 8B has queries of 4096 × 4096, keys and values of 4096 × 1024, a projection of 4096 × 4096,
  // and three matrices of 4096 × 14336.
  CHECK(trained("llama3-8b@lora=16") == 32 * 16 * (2 * (4096 + 4096) + 2 * (4096 + 1024) + 3 * (4096 + 14336)));
  CHECK(trained("llama-7b@lora=8@lora_layers=q_proj+v_proj") == 32 * 8 * 2 * (4096 + 4096));
  CHECK(trained("llama-7b@lora=8@lora_layers=q_proj,v_proj") == 32 * 8 * 2 * (4096 + 4096));
  CHECK(trained("llama3-8b@lora=8@lora_layers=k_proj+o_proj") == 32 * 8 * ((4096 + 1024) + (4096 + 4096)));
  CHECK(trained("llama3-8b@lora=8@lora_layers=layer3") == trained("llama3-8b@lora=8") / 32);
  // Megatron-LM has one matrix for queries, keys and values, and so have Phi-3 and GPT-2 in transformers.
  CHECK(trained("llama3-8b@lora=8@lora_layers=qkv") == 32 * 8 * (4096 + 6144));
  CHECK(trained("llama3-8b@lora=8@lora_layers=linear_qkv") == 32 * 8 * (4096 + 6144));
  CHECK(trained("phi-3-mini@lora=8@lora_layers=qkv_proj") == 32 * 8 * (3072 + 9216));
  CHECK(trained("gpt2@lora=8@lora_layers=c_attn") == 12 * 8 * (768 + 2304));
  CHECK(error_of([] { static_cast<void>(load_model("gpt2@lora=8@lora_layers=q_proj")); }).find("named q_proj") !=
        std::string::npos);
}

TEST_CASE("adapters of other kinds have as many weights as PEFT counts") {
  const auto trained = [](const std::string& kind) {
    return load_model("llama3.2-3b@lora=32@lora_layers=q_proj+v_proj@adapter=" + kind).trained_parameters();
  };
  // huggingface/peft, method_comparison/MetaMathQA/results: num_trainable_params of lora, dora and loha, rank 32.
  CHECK(trained("lora") == 9'175'040);
  CHECK(trained("dora") == 9'289'728);
  CHECK(trained("loha") == 18'350'080);
  // LoKr divides 3072 into 48 × 64 and 1024 into 32 × 32. Rank 32 is not below half of 64, so no factor is divided again.
  CHECK(trained("lokr") == 28 * (48 * 48 + 64 * 64 + 32 * 48 + 32 * 64));
  // 8192 is 64 × 128. Rank 16 is below half of 128, so the larger factor is divided.
  CHECK(load_model("llama3-70b@lora=16@lora_layers=projection@adapter=lokr").trained_parameters() ==
        80 * (64 * 64 + 16 * (128 + 128)));
  CHECK(error_of([] { static_cast<void>(load_model("llama3-8b@adapter=dora")); }).find("adapter needs lora") !=
        std::string::npos);
  CHECK(error_of([] { static_cast<void>(load_model("llama3-8b@lora=8@adapter=ia3")); }).find("unknown kind of adapters") !=
        std::string::npos);
}

TEST_CASE("adapters may have a dropout, which has no weights") {
  const Model dropped = load_model("llama3-8b@lora=16@lora_dropout=0.05"), none = load_model("llama3-8b@lora=16");
  CHECK(dropped.parameters() == none.parameters());
  CHECK(layer_of(dropped, "layer0.qkv").operation->drops_adapter_inputs());
  CHECK(!layer_of(dropped, "head").operation->drops_adapter_inputs());
  CHECK(!layer_of(load_model("llama3-8b@lora=16@lora_dropout=0"), "layer0.qkv").operation->drops_adapter_inputs());
  CHECK(error_of([] { static_cast<void>(load_model("llama3-8b@lora_dropout=0.1")); }).find("lora_dropout needs lora") !=
        std::string::npos);
  CHECK(error_of([] { static_cast<void>(load_model("llama3-8b@lora=8@lora_dropout=1.5")); }).find("lora_dropout") !=
        std::string::npos);
}

TEST_CASE("each expert has a separate adapter") {
  const Model mixture = load_model("mixtral-8x7b@lora=8@lora_layers=down");
  CHECK(mixture.trained_parameters() == 32 * 8 * 8 * (14336 + 4096));
}

TEST_CASE("named layers are trained completely, and all other layers are frozen") {
  const Model model = load_model("llama2-7b@trained=head+layer31");
  const std::int64_t layer = 4096 * 12288 + 4096 * 4096 + 3 * 4096 * 11008 + 2 * 4096;
  CHECK(model.trained_parameters() == layer + 4096 * 32000);
  CHECK(model.parameters() == load_model("llama2-7b").parameters());
  // No layer before the last block has an input gradient.
  const std::vector<bool> needs = needs_input_gradient(model);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const std::string& name = model.layers[i].name;
    if (name.starts_with("layer30")) CHECK(!needs[i]);
    if (name == "head") CHECK(needs[i]);
  }
  // The whole head is trained in addition to adapters.
  const Model both = load_model("llama2-7b@lora=16@trained=head");
  CHECK(both.trained_parameters() == load_model("llama2-7b@lora=16").trained_parameters() + 4096 * 32000);
}

TEST_CASE("a head that shares a frozen table is frozen, too") {
  const Model model = load_model("gpt2@lora=8");
  const Layer& head = layer_of(model, "head");
  REQUIRE(head.tied_to >= 0);
  CHECK(is_frozen(model, head));
}

TEST_CASE("layers may be frozen by a name or by the model's file") {
  const Model whole = load_model("retinanet_resnet50_fpn@frozen=none"), usual = load_model("retinanet_resnet50_fpn");
  CHECK(whole.trained_parameters() == whole.parameters());
  // The first stage is frozen: the first convolution and three bottlenecks of 64, 64 and 256
  // channels, the first of which has a parallel convolution.
  const std::int64_t stem = 3 * 64 * 49, stage = 64 * 64 + 2 * 256 * 64 + 3 * (9 * 64 * 64 + 64 * 256) + 64 * 256;
  CHECK(usual.parameters() - usual.trained_parameters() == stem + stage);
  CHECK(load_model("retinanet_resnet50_fpn@frozen=stem").trained_parameters() == whole.parameters() - stem);
  // The trained parts in a name replace the trained parts in the file.
  CHECK(load_model("retinanet_resnet50_fpn@trained=stem").trained_parameters() == stem);
  const std::vector<bool> needs = needs_input_gradient(usual);
  for (std::size_t i = 0; i < usual.layers.size(); ++i) {
    const std::string& name = usual.layers[i].name;
    if (name.starts_with("stage1")) CHECK(!needs[i]);
    if (name.starts_with("stage3")) CHECK(needs[i]);
  }
  CHECK(error_of([] {
          static_cast<void>(load_model("retinanet_resnet50_fpn@frozen=steam"));
        }).find("named steam, which frozen requests") != std::string::npos);
  CHECK(error_of([] {
          static_cast<void>(load_model("llama2-7b@lora=16@frozen=head"));
        }).find("cannot be combined with a key") != std::string::npos);
}

TEST_CASE("names that match no layer, invalid ranks and layers without adapters are refused") {
  CHECK(error_of([] {
          static_cast<void>(load_model("llama2-7b@trained=haed"));
        }).find("no layer with parameters named haed") != std::string::npos);
  CHECK(error_of([] { static_cast<void>(load_model("llama2-7b@lora=16@lora_layers=embedding")); }).find("has no adapters") !=
        std::string::npos);
  CHECK(error_of([] { static_cast<void>(load_model("llama2-7b@lora=0")); }).find("lora") != std::string::npos);
  CHECK(error_of([] { static_cast<void>(load_model("llama2-7b@lora_layers=qkv")); }).find("lora_layers needs lora") !=
        std::string::npos);
  CHECK(error_of([] { static_cast<void>(load_model("llama2-7b@trained=head+")); }).find("the name of a layer is missing") !=
        std::string::npos);
  CHECK(error_of([] { static_cast<void>(load_model("resnet50@lora=8")); }).find("no layer of resnet50 would be trained") !=
        std::string::npos);
}

TEST_CASE("an adapter's kernels add up to its work, and the matrix itself has no gradient") {
  const Model model = load_model("llama2-7b@lora=16");
  const Layer& layer = layer_of(model, "layer3.projection");
  const double positions = 4096, from = 4096, to = 4096, rank = 16;
  const auto flops = [&](Pass pass) {
    double sum = 0;
    for (const Work& work : layer.operation->kernels(pass, layer.input_shapes, layer.output_shape)) sum += work.flops;
    CHECK(layer.operation->work(pass, layer.input_shapes, layer.output_shape).flops == Approx(sum));
    return sum;
  };
  const double matrix = 2 * positions * from * to, down = 2 * positions * rank * from, up = 2 * positions * rank * to;
  // Scaling and addition count as one operation per item.
  CHECK(flops(Pass::forward) == Approx(matrix + down + up + 2 * positions * to));
  CHECK(flops(Pass::backward_data) == Approx(matrix + down + positions * from));
  CHECK(flops(Pass::backward_weight) == Approx(2 * up + down + positions * to));
}

TEST_CASE("the kernels of adapters of queries and values add up to the work of the joined matrix") {
  const Model model = load_model("llama3-8b@lora=16@lora_layers=q_proj+v_proj");
  const Layer& layer = layer_of(model, "layer3.qkv");
  CHECK(layer.operation->adapters() == 2);
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
    double sum = 0;
    for (const Work& work : layer.operation->kernels(pass, layer.input_shapes, layer.output_shape)) sum += work.flops;
    CHECK(layer.operation->work(pass, layer.input_shapes, layer.output_shape).flops == Approx(sum));
  }
  // Operations outside of a model are read from their attributes.
  CHECK(layer.operation->attributes() == "features=6144 bias=no adapter=16 keys=1024 adapted=5");
}

}  // namespace

}  // namespace trained_parts_tests
