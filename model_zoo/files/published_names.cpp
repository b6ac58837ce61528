#include "model_zoo/files/published_names.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "core/lower_case.hpp"

namespace ddl {
namespace {

/// Endings of published names that do not change the model's sizes: forms of training, and formats of weights.
constexpr auto silent_endings = std::to_array<std::string_view>(
    {"-hf",   "-instruct", "-chat", "-base", "-it",     "-pt",      "-thinking", "-v0.1",  "-v0.2",      "-v1.0", "-fp8",
     "-bf16", "-fp16",     "-int4", "-int8", "-4bit",   "-8bit",    "-bnb",      "-qat",   "-diffusers", "-gguf", "-awq",
     "-gptq", "-q8_0",     "-q4_0", "-mlx",  "-q4_k_m", "-unsloth", "-nvfp4",    "-mxfp4", "-mcore"});

/// Vendors at the start of some published names. The names of bundled models omit them.
constexpr auto silent_beginnings = std::to_array<std::string_view>({"nvidia-"});

struct QuantizedEnding {
  std::string_view ending, format;
};
/// Endings of the names of checkpoints with quantized weights; the first match is used. bitsandbytes quantizes to nf4
/// [Dettmers et al., "QLoRA", NeurIPS 2023], with double quantization in the checkpoints of Unsloth (from memory). GPTQ and
/// AWQ have 4 bits and a scale for 128 weights [Frantar et al., "GPTQ", ICLR 2023; Lin et al., "AWQ", MLSys 2024], which
/// take as many bytes as nf4 with double quantization.
constexpr auto quantized_endings = std::to_array<QuantizedEnding>({{"-8bit", "int8"},
                                                                   {"-int8", "int8"},
                                                                   {"-4bit", "nf4-double"},
                                                                   {"-int4", "nf4-double"},
                                                                   {"-gptq", "nf4-double"},
                                                                   {"-awq", "nf4-double"}});

/// Returns whether a name ends with a date, of a month and a day or of a year and a month: `-0905`, `-2507`.
bool has_date(std::string_view name) {
  if (name.size() < 6 || name[name.size() - 5] != '-') return false;
  const std::string_view date = name.substr(name.size() - 4);
  if (!std::all_of(date.begin(), date.end(), [](char c) { return c >= '0' && c <= '9'; })) return false;
  const int first = 10 * (date[0] - '0') + date[1] - '0', second = 10 * (date[2] - '0') + date[3] - '0';
  const bool is_day = first >= 1 && first <= 12 && second >= 1 && second <= 31;
  const bool is_month = first >= 23 && first <= 39 && second >= 1 && second <= 12;
  return is_day || is_month;
}

/// Prefixes of timm's names: the library or training from which the weights come [timm, "Pretrained image models"]. Names
/// from before version 0.9 have such a prefix, and later names have a tag instead.
constexpr auto weight_sources =
    std::to_array<std::string_view>({"tv_", "tf_", "gluon_", "ssl_", "swsl_", "ig_", "legacy_", "adv_"});

struct Ending {
  std::string_view ending, replacement;
};
/// Endings of timm's names, and their replacements in the names of bundled models. Most denote forms of training. The
/// versions of GluonCV's ResNets have different stem layers.
constexpr auto timm_endings = std::to_array<Ending>({{"_in21ft1k", ""},
                                                     {"_in22ft1k", ""},
                                                     {"_ns", ""},
                                                     {"_ap", ""},
                                                     {"_sam", ""},
                                                     {"_v1b", ""},
                                                     {"_v1c", "c"},
                                                     {"_v1d", "d"},
                                                     {"_v1s", "s"}});
/// Part of timm's names for models with another activation function, which has no parameters.
constexpr std::string_view quick_gelu = "_quickgelu";

bool is_size(std::string_view text) {
  return text.size() == 3 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

struct Tagged {
  std::string architecture;  ///< with the size of the image, if the tag ends in one
  std::string_view tag;      ///< without the size
};

/// Splits a name of timm with a tag, `convnext_base.fb_in22k_ft_in1k_384`. A tag that ends in the size of an image continues
/// the name.
std::optional<Tagged> split_tag(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  Tagged tagged{std::string(name.substr(0, dot)), name.substr(dot + 1)};
  const std::string_view tag = tagged.tag;
  if (tag.size() > 4 && tag[tag.size() - 4] == '_' && is_size(tag.substr(tag.size() - 3))) {
    tagged.architecture += tag.substr(tag.size() - 4);
    tagged.tag.remove_suffix(4);
  }
  return tagged;
}

/// Returns the name of timm's architecture for a name with a tag. Returns nothing for tags of heads with other classes than
/// the 1,000 of ImageNet.
std::string without_tag(std::string_view name) {
  const auto tagged = split_tag(name);
  return tagged && tagged->tag.ends_with("in1k") ? tagged->architecture : std::string();
}

struct Head {
  std::string_view tag;
  std::int64_t classes;
};
/// Ends of timm's tags, and the classes of the heads of these weights [timm 1.0.31, `num_classes` of its configurations].
/// ImageNet-21k has 21,843 classes in Google's list, 11,221 in the list of Ridnik et al., "ImageNet-21K pretraining for the
/// masses", 2021, and 21,841 under the name ImageNet-22k. The first match is used.
constexpr auto heads = std::to_array<Head>({{"in12k", 11821},
                                            {"in22k", 21841},
                                            {"miil_in21k", 11221},
                                            {"goog_in21k", 21843},
                                            {"augreg_in21k", 21843},
                                            {"300ep_in21k", 21843},
                                            {"1000ep_in21k", 21843},
                                            {"patch16_in21k", 21843},
                                            {"patch30_in21k", 21843}});

/// Beginnings of the names of CLIP's image encoders, and the size of the vectors that they share with texts; the first match
/// is used [timm 1.0.31; Radford et al., "Learning transferable visual models from natural language supervision", ICML 2021;
/// Cherti et al., "Reproducible scaling laws for contrastive language-image learning", CVPR 2023].
constexpr auto shared_vectors = std::to_array<Head>({{"vit_base_patch16_plus_", 640},
                                                     {"vit_base_", 512},
                                                     {"vit_large_", 768},
                                                     {"vit_huge_", 1024},
                                                     {"vit_giant_", 1024},
                                                     {"vit_gigantic_", 1280}});
/// Beginnings of timm's tags for weights of CLIP that are not fine-tuned to classes.
constexpr auto clip_tags =
    std::to_array<std::string_view>({"openai", "laion2b", "laion400m", "datacompxl", "metaclip", "dfn"});

/// Returns the outputs of a CLIP encoder whose tag does not name classes; else 0.
std::int64_t vector_of(const Tagged& tagged) {
  const auto begins = [](std::string_view text) { return [text](const auto& start) { return text.starts_with(start); }; };
  if (tagged.architecture.find("_clip_") == std::string::npos || tagged.tag.find("_ft_") != std::string_view::npos ||
      tagged.tag.ends_with("in1k") || std::none_of(clip_tags.begin(), clip_tags.end(), begins(tagged.tag))) {
    return 0;
  }
  const auto found = std::find_if(shared_vectors.begin(), shared_vectors.end(),
                                  [&tagged](const Head& each) { return tagged.architecture.starts_with(each.tag); });
  return found == shared_vectors.end() ? 0 : found->classes;
}

/// Appends the spellings of a name of timm.
void add_timm_spellings(std::string name, std::vector<std::string>& spellings) {
  if (const std::size_t at = name.find(quick_gelu); at != std::string::npos) {
    name.erase(at, quick_gelu.size());
    spellings.push_back(name);
  }
  if (const std::string architecture = without_tag(name); !architecture.empty()) {
    name = architecture;
    spellings.push_back(name);
  }
  // The endings are removed first: `tf_efficientnet_b1_ns` is `tf_efficientnet_b1`, whose image is larger than that of
  // `efficientnet_b1`.
  for (bool is_shorter = true; is_shorter;) {
    is_shorter = false;
    for (const Ending& each : timm_endings) {
      if (!name.ends_with(each.ending) || name.size() == each.ending.size()) continue;
      name = name.substr(0, name.size() - each.ending.size()) + std::string(each.replacement);
      spellings.push_back(name);
      is_shorter = true;
    }
  }
  for (const std::string_view source : weight_sources) {
    if (name.starts_with(source) && name.size() > source.size()) {
      spellings.push_back(name.substr(source.size()));
      return;
    }
  }
}

}  // namespace

bool is_hub_name(std::string_view name) {
  return std::count(name.begin(), name.end(), '/') == 1 && name.front() != '/' && name.front() != '.' &&
         name.back() != '/' && !name.ends_with(".yaml") && !name.ends_with(".yml");
}

std::string_view quantized_format(std::string_view name) {
  const std::size_t folder = name.rfind('/');
  name = name.substr(0, name.find('@', folder == std::string_view::npos ? 0 : folder));
  for (const std::string& spelling : plainer_spellings(name)) {
    for (const QuantizedEnding& each : quantized_endings) {
      if (spelling.ends_with(each.ending)) return each.format;
    }
  }
  return {};
}

std::optional<HeadOfTag> head_of_tag(std::string_view name) {
  const auto tagged = split_tag(name);
  if (!tagged) return std::nullopt;
  const auto found = std::find_if(heads.begin(), heads.end(), [&tagged](const Head& head) {
    return tagged->tag == head.tag || tagged->tag.ends_with("_" + std::string(head.tag));
  });
  if (found == heads.end()) {
    const std::int64_t outputs = vector_of(*tagged);
    return outputs > 0 ? std::optional(HeadOfTag{tagged->architecture, outputs}) : std::nullopt;
  }
  return HeadOfTag{tagged->architecture, found->classes};
}

std::vector<std::string> plainer_spellings(std::string_view name) {
  if (is_hub_name(name)) name.remove_prefix(name.find('/') + 1);
  std::string plain = lower_case(name);
  std::replace(plain.begin(), plain.end(), ' ', '-');
  if (plain.starts_with("meta-")) plain.erase(0, 5);
  std::vector<std::string> spellings{plain};
  const auto shorten = [&spellings](std::string_view ending) {
    const std::string& longest = spellings.back();
    if (!longest.ends_with(ending) || longest.size() == ending.size()) return false;
    spellings.push_back(longest.substr(0, longest.size() - ending.size()));
    return true;
  };
  const auto undate = [&spellings, &shorten] {
    return has_date(spellings.back()) && shorten(std::string(spellings.back().substr(spellings.back().size() - 5)));
  };
  while (std::any_of(silent_endings.begin(), silent_endings.end(), shorten) || undate()) {}
  // Llama 3.1 has the sizes of Llama 3.
  const std::string last = spellings.back();
  for (const std::string_view start : {"llama-3.1-", "llama3.1-", "llama3.1_"}) {
    if (last.starts_with(start)) spellings.push_back("llama3-" + last.substr(start.size()));
  }
  for (const std::string_view maker : silent_beginnings) {
    if (last.starts_with(maker) && last.size() > maker.size()) spellings.push_back(last.substr(maker.size()));
  }
  add_timm_spellings(plain, spellings);
  return spellings;
}

}  // namespace ddl
