#include "model_zoo/network/packed_sequences.hpp"

#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

namespace packed_sequences_tests {

namespace {

using namespace ddl;

const std::string sequence = "{channels: 24, tokens: 16}";

Layer packed(const std::string& attention, std::int64_t tokens) {
  Model model = model_of(sequence, "  - attention: " + attention + "\n");
  pack_sequences(model, tokens);
  return model.layers.back();
}
double macs_of(const Layer& layer) { return layer.operation->macs(layer.input_shapes, layer.output_shape); }
double unmasked_macs_of(const Layer& layer) {
  return layer.operation->unmasked_macs(layer.input_shapes, layer.output_shape);
}

TEST_CASE("tokens of packed documents attend only to their own document, and fused kernels skip all other pairs") {
  // Four documents of four tokens in a sequence of 16 have 4 · 4² pairs, or 4 · (1 + 2 + 3 + 4) pairs with a causal mask.
  CHECK(macs_of(packed("{heads: 4, fused: yes}", 4)) == 2.0 * 64 * 8);
  CHECK(macs_of(packed("{heads: 4, causal: yes, fused: yes}", 4)) == 2.0 * 40 * 8);
  // A window of two leaves each document 1 + 2 + 2 + 2 pairs. A window that is longer than documents has no effect.
  CHECK(macs_of(packed("{heads: 4, causal: yes, window: 2, fused: yes}", 4)) == 2.0 * 28 * 8);
  CHECK(macs_of(packed("{heads: 4, causal: yes, window: 8, fused: yes}", 4)) == 2.0 * 40 * 8);
  // If scores are written, all are written, but scores between documents are not FLOPs of the model.
  CHECK(macs_of(packed("{heads: 4, causal: yes}", 4)) == 2.0 * 256 * 8);
  for (const char* attention : {"{heads: 4, causal: yes}", "{heads: 4, causal: yes, fused: yes}", "{heads: 4, fused: yes}"})
    CHECK(unmasked_macs_of(packed(attention, 4)) == 2.0 * 64 * 8);
  // The kernel has 16 samples, each of one head and one document.
  const Work work = work_of(packed("{heads: 4, fused: yes}", 4), Pass::backward_data);
  CHECK(work.m == 4);
  CHECK(work.n == 4);
  CHECK(work.count == 16);
  const Work whole = work_of(packed("{heads: 4, fused: yes}", 16), Pass::backward_data);
  CHECK(work.flops == whole.flops / 4);
  CHECK(work.activation_items == whole.activation_items);
}

TEST_CASE("documents as long as the sequence have no effect, and a packed layer has the documents' length") {
  CHECK(packed("{heads: 4, fused: yes}", 16).operation->attributes() == "heads=4 fused=yes");
  CHECK(packed("{heads: 4, fused: yes}", 4).operation->attributes() == "heads=4 fused=yes document=4");
  CHECK(macs_of(layer_of(sequence, "  - attention: {heads: 4, fused: yes, document: 4}\n")) == 2.0 * 64 * 8);
}

TEST_CASE("documents fit into sequences, and a model without attention between tokens has no documents") {
  Model language = load_model("gpt2"), images = load_model("resnet50"), patches = load_model("vit_b_16");
  const std::string hint = "only language models have packed sequences, such as gpt2 or llama3-8b";
  CHECK(error_of([&] { pack_sequences(language, 2048); }) ==
        "documents of 2048 tokens do not fit into the sequences of gpt2, which have 1024\nhint: use shorter documents, or "
        "longer sequences (--seq)");
  CHECK(error_of([&] { pack_sequences(images, 8); }) ==
        "resnet50 has no attention between the tokens of a sequence, so documents cannot be packed\nhint: " + hint);
  CHECK(error_of([&] { pack_sequences(patches, 8); }) ==
        "vit_b_16 has no attention between the tokens of a sequence, so documents cannot be packed\nhint: " + hint);
  const double whole = language.macs();
  pack_sequences(language, 512);
  CHECK(language.macs() < whole);
  CHECK(language.name == "gpt2@packed=512");
  CHECK(load_model("gpt2@packed=512").macs() == language.macs());
  CHECK(load_model("gpt2@packed=512").name == "gpt2@packed=512");
  CHECK(load_model("gpt2@packed=512", 2048).name == "gpt2@packed=512@tokens=2048");
  CHECK(is_packed(language));
  CHECK_FALSE(is_packed(images));
  CHECK(error_of([&] { pack_sequences(language, 64); }) ==
        "gpt2@packed=512 already sets the length of documents, but 64 is requested\nhint: leave out one of the two "
        "lengths");
}

}  // namespace

}  // namespace packed_sequences_tests
