#include <string>

#include "model_zoo/files/load_model.hpp"
#include "model_zoo/importers/hugging_face/hugging_face.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/imported_models.hpp"

namespace hugging_face_encoders_tests {

using namespace ddl;

TEST_CASE("DINOv2, CLIP and SigLIP have the number of parameters that transformers builds") {
  // transformers 5.24 on the device `meta`, with the sizes of the pages at huggingface.co. DINOv2 is without its token of
  // masked patches, and the encoders of images and texts without the factor, and the offset, of their similarities. For
  // DINOv2-base, DINOv2-giant and SigLIP-base these are also the numbers of the published weight files.
  const std::string dino = R"({"model_type": "dinov2", "image_size": 518)";
  CHECK(model_of_text(dino + "}").parameters() == 86'580'480 - 768);
  CHECK(model_of_text(dino + R"(, "use_mask_token": false, "patch_size": 14})").parameters() == 86'580'480 - 768);
  const std::string giant = dino + R"(, "hidden_size": 1536, "num_hidden_layers": 40, "num_attention_heads": 24,
      "use_swiglu_ffn": true})";
  CHECK(model_of_text(giant).parameters() == 1'136'480'768 - 1536);
  CHECK(has_line(import_hugging_face(giant, "config.json"), "feed_forward: 4096"));
  CHECK(model_of_text(dino + R"(, "architectures": ["Dinov2ForImageClassification"], "num_labels": 1000})").parameters() ==
        88'117'480 - 768);
  CHECK(model_of_text(R"({"model_type": "dinov2_with_registers", "image_size": 518, "patch_size": 14})").parameters() ==
        86'583'552 - 768);
  CHECK(refusal_of(R"({"model_type": "dinov2", "image_size": 225})").find("patches of 14 do not divide") !=
        std::string::npos);
  CHECK(model_of_text(R"({"model_type": "clip"})").parameters() == 151'277'313 - 1);
  const std::string text = R"({"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12})";
  const std::string image = R"({"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16,
      "num_hidden_layers": 24, "patch_size": 14})";
  const std::string large = R"({"model_type": "clip", "projection_dim": 768, "text_config": )" + text;
  CHECK(model_of_text(large + R"(, "vision_config": )" + image + "}").parameters() == 427'616'513 - 1);
  // Older files have a second object with all sizes, which counts.
  CHECK(
      model_of_text(large + R"(, "vision_config": {"hidden_size": 8}, "vision_config_dict": )" + image + "}").parameters() ==
      427'616'513 - 1);
  CHECK(model_of_text(R"({"model_type": "clip_text_model", )" + text.substr(1)).parameters() == 123'060'480);
  CHECK(model_of_text(R"({"model_type": "clip_text_model", "architectures": ["CLIPTextModelWithProjection"],
      "hidden_size": 1280, "intermediate_size": 5120, "num_hidden_layers": 32, "num_attention_heads": 20,
      "projection_dim": 1280, "hidden_act": "gelu"})")
            .parameters() == 694'659'840);
  CHECK(model_of_text(R"({"model_type": "clip_vision_model"})").parameters() == 87'456'000);
  CHECK(model_of_text(R"({"model_type": "clip_vision_model", "architectures": ["CLIPVisionModelWithProjection"]})")
            .parameters() == 87'849'216);
  CHECK(model_of_text(R"({"model_type": "siglip"})").parameters() == 203'155'970 - 2);
  const std::string shape = R"({"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27,
      "num_attention_heads": 16)";
  const Import so400m =
      import_hugging_face(R"({"model_type": "siglip", "text_config": )" + shape + R"(}, "vision_config": )" + shape +
                              R"(, "image_size": 384, "patch_size": 14}})",
                          "config.json");
  CHECK(parse_model(so400m.model_file, "config.yaml").parameters() == 877'960'498 - 2);
  CHECK(has_line(so400m, "size: 378"));
  CHECK(model_of_text(R"({"model_type": "siglip_text_model"})").parameters() == 110'271'744);
  CHECK(model_of_text(R"({"model_type": "siglip_vision_model"})").parameters() == 92'884'224);
  CHECK(model_of_text(R"({"model_type": "siglip_vision_model", "vision_use_head": false})").parameters() == 85'797'120);
  CHECK(model_of_text(R"({"model_type": "siglip2"})").parameters() == 203'202'050 - 2);
  CHECK(model_of_text(R"({"model_type": "siglip2_vision_model"})").parameters() == 92'930'304);
  CHECK(refusal_of(R"({"model_type": "siglip2_vision_model", "num_patches": 250})").find("are not a square") !=
        std::string::npos);
  CHECK(refusal_of(R"({"model_type": "siglip", "vision_config": {"vision_use_head": false}})")
            .find("images without a head cannot be compared with texts\n") != std::string::npos);
  CHECK(refusal_of(R"({"model_type": "clip", "text_config": 3})").find("'text_config' is not an object\n") !=
        std::string::npos);
}

TEST_CASE("ESM-2 and BioGPT have the number of parameters that transformers builds") {
  // The numbers of tests/data/media_model_parameters.csv, without the head for contacts, and transformers_parameters.csv.
  const std::string esm = R"({"model_type": "esm", "architectures": ["EsmForMaskedLM"], "hidden_size": 1280,
      "intermediate_size": 5120, "num_attention_heads": 20, "num_hidden_layers": 33, "vocab_size": 33,
      "emb_layer_norm_before": false, "token_dropout": true, "hidden_dropout_prob": 0.0,
      "attention_probs_dropout_prob": 0.0, "position_embedding_type": )";
  CHECK(model_of_text(esm + R"("rotary"})").parameters() == 651'043'254 - 661);
  CHECK(refusal_of(esm + R"("absolute"})").find("only ESM-2 is read") != std::string::npos);
  CHECK(model_of_text(R"({"model_type": "biogpt"})").parameters() == 346'763'264);
  CHECK(model_of_text(R"({"model_type": "biogpt", "hidden_size": 1600, "num_hidden_layers": 48,
      "num_attention_heads": 25, "intermediate_size": 6400, "vocab_size": 57717, "max_position_embeddings": 2048})")
            .parameters() == 1'571'188'800);
}

TEST_CASE("encoders of text have the number of parameters that transformers builds") {
  // transformers 5.24 on the device `meta`, default configurations, and those of the named models at huggingface.co.
  const auto count = [](const std::string& keys) { return model_of_text("{" + keys + "}").parameters(); };
  const auto of = [](const std::string& type, const std::string& architecture) {
    return R"("model_type": ")" + type + R"(", "architectures": [")" + architecture + "\"]";
  };
  CHECK(count(of("albert", "AlbertForPreTraining")) == 223'158'450);
  // albert-base-v2
  CHECK(count(of("albert", "AlbertForSequenceClassification") +
              R"(, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072)") == 11'685'122);
  CHECK(count(of("electra", "ElectraForPreTraining")) == 13'549'057);
  CHECK(count(of("electra", "ElectraForMaskedLM")) == 13'546'682);
  CHECK(count(of("electra", "ElectraForSequenceClassification")) == 13'549'314);
  // electra-base-discriminator
  CHECK(count(of("electra", "ElectraForPreTraining") + R"(, "embedding_size": 768, "hidden_size": 768,
              "num_attention_heads": 12, "intermediate_size": 3072)") == 109'483'009);
  // mpnet-base, of which all-mpnet-base-v2 is made
  CHECK(count(of("mpnet", "MPNetModel") + R"(, "max_position_embeddings": 514)") == 109'486'464);
  CHECK(count(of("mpnet", "MPNetForMaskedLM") + R"(, "max_position_embeddings": 514)") == 109'518'527);
  CHECK(count(of("nomic_bert", "NomicBertModel")) == 136'731'648);
  CHECK(count(of("nomic_bert", "NomicBertForMaskedLM")) == 137'354'304);
  // The keys of nomic-embed-text-v1.5
  CHECK(count(of("nomic_bert", "NomicBertModel") + R"(, "activation_function": "swiglu", "n_embd": 768, "n_head": 12,
              "n_inner": 3072, "n_layer": 12, "n_positions": 8192, "vocab_size": 30528)") == 136'731'648);
  CHECK(count(of("gte", "GteModel")) == 305'368'320);
  CHECK(count(of("gte", "GteForMaskedLM")) == 306'210'496);
  CHECK(count(of("jina_embeddings_v3", "JinaEmbeddingsV3ForMaskedLM")) == 559'616'146);
  CHECK(count(of("megatron-bert", "MegatronBertForPreTraining")) == 334'723'458);
  CHECK(count(of("roberta-prelayernorm", "RobertaPreLayerNormForMaskedLM")) == 124'698'201);
  CHECK(count(of("xlm-roberta-xl", "XLMRobertaXLForMaskedLM")) == 3'482'741'760);
  CHECK(count(of("data2vec-text", "Data2VecTextForMaskedLM")) == 109'514'298);
  CHECK(count(of("eurobert", "EuroBertForMaskedLM")) == 310'266'624);
  // EuroBERT-2.1B
  CHECK(count(of("eurobert", "EuroBertForMaskedLM") + R"(, "hidden_size": 2304, "intermediate_size": 6144,
              "num_hidden_layers": 32, "num_attention_heads": 18, "num_key_value_heads": 6)") == 2'403'092'736);
  CHECK(refusal_of(R"({"model_type": "albert", "num_hidden_groups": 2})").find("have the same weights") !=
        std::string::npos);
}

TEST_CASE("later layers of ALBERT and MPNet own no weights that they share") {
  const Model albert = model_of_text(R"({"model_type": "albert", "architectures": ["AlbertModel"]})");
  const Model longer =
      model_of_text(R"({"model_type": "albert", "architectures": ["AlbertModel"], "num_hidden_layers": 24})");
  CHECK(longer.parameters() == albert.parameters());
  CHECK(longer.macs() > 1.9 * albert.macs());
  // All layers of MPNet share the biases of 32 distances, so a layer owns the weights of a layer of BERT-base.
  const Model mpnet = model_of_text(R"({"model_type": "mpnet", "architectures": ["MPNetModel"]})");
  const Model deeper = model_of_text(R"({"model_type": "mpnet", "architectures": ["MPNetModel"], "num_hidden_layers": 24})");
  const std::int64_t matrices = 4 * 768 * 768 + 2 * 768 * 3'072, vectors = 4 * 768 + 3'072 + 768 + 4 * 768;
  CHECK(deeper.parameters() - mpnet.parameters() == 12 * (matrices + vectors));
}

TEST_CASE("a file of Nomic AI says whether its feed-forward network is gated") {
  const std::string start = R"({"model_type": "nomic_bert", "architectures": ["NomicBertModel"], )";
  // The keys of nomic-embed-text-v1.5 whose values are read.
  const std::string usual = R"("qkv_proj_bias": false, "mlp_fc1_bias": false, "mlp_fc2_bias": false,
      "rotary_emb_fraction": 1.0, "prenorm": false, "use_rms_norm": false, "activation_function": )";
  const Import gated = import_hugging_face(start + usual + R"("swiglu"})", "config.json");
  CHECK(has_line(gated, "activation: silu"));
  CHECK(has_line(gated, "gated: yes"));
  CHECK(has_line(import_hugging_face(start + usual + R"("geglu"})", "config.json"), "activation: gelu"));
  CHECK(has_line(import_hugging_face(start + usual + R"("glu"})", "config.json"), "activation: sigmoid"));
  const Import plain = import_hugging_face(start + usual + R"("gelu"})", "config.json");
  CHECK(has_line(plain, "activation: gelu"));
  CHECK_FALSE(has_line(plain, "gated: yes"));
  // Without a gate, each of 12 layers has one matrix less.
  CHECK(model_of_text(start + usual + R"("gelu"})").parameters() == 136'731'648 - 12 * 768 * 3'072);
  for (const std::string key : {"qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "prenorm", "use_rms_norm"})
    CHECK(refusal_of(start + "\"" + key + "\": true}").find("'" + key + ": true' is not known") != std::string::npos);
  CHECK(refusal_of(start + R"("rotary_emb_fraction": 0.5})").find("'rotary_emb_fraction' is not 1") != std::string::npos);
}

TEST_CASE("the classes of an encoder are listed once") {
  const std::string refusal = refusal_of(R"({"model_type": "nomic_bert", "architectures": ["Nomic"]})");
  CHECK(refusal.find("known: NomicBertForMaskedLM, NomicBertModel, ") != std::string::npos);
}

TEST_CASE("encoders with decoders, of images and of speech have the number of parameters that transformers builds") {
  // As above. Marian is without the sines of its positions, which the library keeps as frozen weights.
  CHECK(model_of_text(R"({"model_type": "marian"})").parameters() == 414'307'328 - 2 * 1'024 * 1'024);
  // opus-mt-en-de
  CHECK(model_of_text(R"({"model_type": "marian", "vocab_size": 58101, "d_model": 512, "encoder_layers": 6,
      "decoder_layers": 6, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "encoder_attention_heads": 8,
      "decoder_attention_heads": 8, "max_position_embeddings": 512, "activation_function": "swish"})")
            .parameters() == 74'410'496 - 2 * 512 * 512);
  CHECK(model_of_text(R"({"model_type": "blenderbot"})").parameters() == 2'696'268'800);
  CHECK(model_of_text(R"({"model_type": "blenderbot-small"})").parameters() == 85'113'344);
  CHECK(model_of_text(R"({"model_type": "plbart"})").parameters() == 139'220'736);
  CHECK(model_of_text(R"({"model_type": "umt5"})").parameters() == 172'122'112);
  CHECK(model_of_text(R"({"model_type": "umt5", "architectures": ["UMT5EncoderModel"], "vocab_size": 256384,
      "d_model": 4096, "d_ff": 10240, "num_layers": 24, "num_heads": 64})")
            .parameters() == 5'680'910'336);
  CHECK(refusal_of(R"({"model_type": "marian", "decoder_vocab_size": 7})").find("share the embedding") != std::string::npos);
  CHECK(model_of_text(R"({"model_type": "deit", "num_labels": 1000})").parameters() == 87'338'192);
  CHECK(model_of_text(R"({"model_type": "deit", "num_labels": 1000, "architectures": ["DeiTForImageClassification"]})")
            .parameters() == 86'569'192);
  CHECK(model_of_text(R"({"model_type": "deit", "architectures": ["DeiTModel"]})").parameters() == 86'390'784);
  CHECK(model_of_text(R"({"model_type": "vit_msn", "num_labels": 1000})").parameters() == 86'567'656);
  const std::string biases = R"("num_labels": 1000, "use_relative_position_bias": true)";
  CHECK(model_of_text(R"({"model_type": "beit", )" + biases + "}").parameters() == 86'530'984);
  CHECK(model_of_text(R"({"model_type": "beit", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
      "intermediate_size": 4096, )" +
                      biases + "}")
            .parameters() == 304'430'568);
  CHECK(model_of_text(R"({"model_type": "data2vec-vision", )" + biases + "}").parameters() == 86'530'984);
  CHECK(model_of_text(R"({"model_type": "beit", "num_labels": 1000, "use_mean_pooling": false})").parameters() ==
        86'425'576);
  // dit-base-finetuned-rvlcdip
  CHECK(
      model_of_text(R"({"model_type": "beit", "num_labels": 16, "use_absolute_position_embeddings": true})").parameters() ==
      85'820'176);
  // SegFormer-B0 and B5 for ADE20K
  CHECK(model_of_text(R"({"model_type": "segformer", "num_labels": 150})").parameters() == 3'752'694);
  CHECK(model_of_text(R"({"model_type": "segformer", "num_labels": 150, "hidden_sizes": [64, 128, 320, 512],
      "depths": [3, 6, 40, 3], "decoder_hidden_size": 768})")
            .parameters() == 84'708'694);
  CHECK(refusal_of(R"({"model_type": "segformer", "depths": [2, 2]})").find("four stages") != std::string::npos);
  // Without the vector of masked positions and the norms of the positional convolution (families/wav2vec2.yaml), and for
  // WavLM without the gates of its distance biases.
  CHECK(model_of_text(R"({"model_type": "unispeech"})").parameters() == 94'396'320 - 768 - 128);
  CHECK(model_of_text(R"({"model_type": "unispeech-sat"})").parameters() == 94'396'320 - 768 - 128);
  CHECK(model_of_text(R"({"model_type": "wavlm"})").parameters() == 94'406'544 - 768 - 128 - 12 * (12 + 8 * 64 + 8));
  const std::string large = R"("hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
      "intermediate_size": 4096, "feat_extract_norm": "layer", "do_stable_layer_norm": true, "conv_bias": false})";
  CHECK(model_of_text(R"({"model_type": "unispeech-sat", )" + large).parameters() == 315'467'936 - 1'024 - 128);
  CHECK(model_of_text(R"({"model_type": "wavlm", )" + large).parameters() ==
        315'485'920 - 1'024 - 128 - 24 * (16 + 8 * 64 + 8));
}

TEST_CASE("an imported CLIP has the layers of the bundled model") {
  const Model theirs = model_of_text(R"({"model_type": "clip", "architectures": ["CLIPModel"]})");
  const Model ours = load_model("clip-vit-b-32");
  REQUIRE(theirs.layers.size() == ours.layers.size());
  for (std::size_t i = 0; i < ours.layers.size(); ++i) {
    CHECK(theirs.layers[i].name == ours.layers[i].name);
    CHECK(theirs.layers[i].operation->attributes() == ours.layers[i].operation->attributes());
  }
  // An encoder alone has its layers, and reads its own input.
  const Model text = model_of_text(R"({"model_type": "clip_text_model"})");
  const Model image = model_of_text(R"({"model_type": "clip_vision_model"})");
  CHECK(text.parameters() + image.parameters() + 512 * (512 + 768) == ours.parameters());
  CHECK(text.layers.front().operation->type() == "embedding");
  CHECK(image.layers.front().operation->type() == "convolution");
}

TEST_CASE("unread keys and defaults of an inner object are named with it") {
  const Import import = import_hugging_face(R"({"model_type": "clip", "architectures": ["CLIPModel"], "odd": 1,
      "text_config": {"odder": 2, "hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 2,
        "num_attention_heads": 4, "vocab_size": 1000}})",
                                            "config.json");
  std::string all;
  for (const std::string& warning : import.warnings) all += warning + "\n";
  INFO(all);
  CHECK(all.find("not read: 'odder'\n") != std::string::npos);
  CHECK(all.find("not read: 'odd'\n") != std::string::npos);
  CHECK(all.find("vision_config/patch_size 32") != std::string::npos);
  CHECK(all.find("text_config/max_position_embeddings 77") != std::string::npos);
  CHECK(has_line(import, "text_layers: 2"));
  CHECK(has_line(import, "layers: 12"));
}

}  // namespace hugging_face_encoders_tests
