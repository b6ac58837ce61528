#include <algorithm>

#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// The defaults are those of Mamba2Config. The library fla-org/flash-linear-attention has other defaults, and computes the
// number of heads (fla/models/mamba2/configuration_mamba2.py); only its files say `fuse_norm`. Samples have no maximum
// length. The default of 2048 tokens is that of the models of Mamba-2's paper [Dao and Gu, "Transformers are SSMs", ICML
// 2024, appendix D].
FamilyModel read_mamba2(HuggingFaceConfig& config) {
  FamilyModel model{.family = "nemotron-h"};
  const bool is_flash = config.has("fuse_norm") || config.has("fuse_cross_entropy");
  const std::int64_t layers = config.layers({"num_hidden_layers", "n_layer"}, is_flash ? 48 : 64);
  const std::int64_t hidden = config.size({"hidden_size", "d_model"}, is_flash ? 2048 : 4096);
  const std::int64_t width = config.integer({"expand"}, 2, 1, 1024) * hidden, head_size = config.integer({"head_dim"}, 64);
  const std::int64_t heads = config.integer({"num_heads"}, is_flash ? std::max<std::int64_t>(1, width / head_size) : 128);
  if (head_size * heads != width)
    config.fail(config.has("num_heads") ? "num_heads" : "head_dim",
                fmt::format("the heads do not have the {} channels of Mamba-2", width),
                config.has("num_heads") ? "" : fmt::format("the library's default is {} heads: write 'num_heads'", heads));
  model.set("pattern", fmt::format("\"(M){}\"", layers));
  model.set("hidden", hidden);
  model.set("heads", std::int64_t{1});  // this parameter of attention has no effect, because no layer has attention
  model.set("mamba_heads", heads);
  model.set("mamba_head_size", width / heads);
  model.set("mamba_groups", config.integer({"n_groups"}, is_flash ? 1 : 8));
  model.set("state", config.integer({"state_size"}, 128));
  model.set("convolution", config.integer({"conv_kernel"}, 4));
  model.set("chunk", config.integer({"chunk_size"}, 256));
  model.set("vocabulary", config.size({"vocab_size"}, is_flash ? 32000 : 32768));
  model.set("tokens", std::int64_t{2048});
  model.set("head", config.head_of("Mamba2"));
  model.set_flag("tied", config.tied(false));
  config.require("use_bias", false, "matrices have no bias");
  config.require("use_conv_bias", true, "the convolution has a bias");
  config.require(is_flash && config.has("rmsnorm") ? "rmsnorm" : "rms_norm", true, "each mixer ends with a norm");
  for (const std::string_view key : {"fuse_norm", "fuse_cross_entropy", "fuse_linear_cross_entropy", "use_l2warp"})
    config.accept(key);
  static_cast<void>(config.activation({"hidden_act"}, "silu"));
  return model;
}

namespace {

/// Reads a decoder that consists of the mixers of Mamba alone. `norms`: of step size, B and C.
FamilyModel read_selective_decoder(HuggingFaceConfig& config, std::string_view classes, std::string_view norms) {
  FamilyModel model{.family = "nemotron-h"};
  const std::int64_t layers = config.layers({"num_hidden_layers", "n_layer"}, 32);
  const std::int64_t hidden = config.size({"hidden_size", "d_model"}, 768);
  model.set("pattern", fmt::format("\"(S){}\"", layers));
  model.set("hidden", hidden);
  model.set("heads", std::int64_t{1});        // no layer has attention,
  model.set("mamba_heads", std::int64_t{1});  // or Mamba-2
  model.set("inner", config.integer({"intermediate_size", "d_inner"}, config.integer({"expand"}, 2, 1, 1024) * hidden));
  model.set("state", config.integer({"state_size"}, 16));
  model.set("convolution", config.integer({"conv_kernel"}, 4));
  const std::int64_t rank = (hidden + 15) / 16;
  if (config.is_text("time_step_rank")) {
    if (config.text({"time_step_rank"}, "auto") != "auto")
      config.fail("time_step_rank", "the rank of step sizes is a number, or auto");
    model.set("step_rank", rank);
  } else {
    model.set("step_rank", config.integer({"time_step_rank"}, rank));
  }
  model.set("step_norms", norms);
  model.set_flag("mamba_bias", config.boolean("use_bias", false));
  model.set_flag("convolution_bias", config.boolean("use_conv_bias", true));
  model.set("vocabulary", config.size({"vocab_size"}, 50280));
  model.set("tokens", std::int64_t{2048});
  model.set("head", config.head_of(classes));
  model.set_flag("tied", config.tied(true));
  if (config.activation({"hidden_act"}, "silu") != "silu") config.fail("hidden_act", "Mamba has the activation silu");
  // The form of state-spaces/mamba. Its entries choose another mixer or other sizes [mamba_ssm/models/mixer_seq_simple.py].
  if (!config.is_empty("ssm_cfg")) config.fail("ssm_cfg", "entries of 'ssm_cfg' are not read");
  for (const std::string_view key : {"use_mambapy", "use_falcon_mambapy", "use_associative_scan", "mixer_rms_eps", "ssm_cfg",
                                     "fused_add_norm", "rms_norm", "residual_in_fp32", "time_step_init_scheme"})
    config.accept(key);
  return model;
}

}  // namespace

// Defaults of MambaConfig and FalconMambaConfig. Samples have the 2,048 tokens of Mamba's paper [Gu and Dao, "Mamba", arXiv
// 2312.00752, appendix E.2]. Falcon Mamba has norms without scales.
FamilyModel read_mamba(HuggingFaceConfig& config) { return read_selective_decoder(config, "Mamba", "no"); }
FamilyModel read_falcon_mamba(HuggingFaceConfig& config) { return read_selective_decoder(config, "FalconMamba", "plain"); }

}  // namespace ddl
