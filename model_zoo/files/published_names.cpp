#include "model_zoo/files/published_names.hpp"

#include <algorithm>
#include <array>

#include "core/lower_case.hpp"

namespace ddl {
namespace {

/// Endings of published names that do not change the model's sizes: forms of training, formats of weights, and dates.
constexpr auto silent_endings = std::to_array<std::string_view>(
    {"-hf",   "-instruct", "-chat", "-base", "-it",   "-pt",   "-thinking", "-v0.1",      "-v0.2", "-v1.0", "-fp8",
     "-bf16", "-0324",     "-0528", "-2407", "-2411", "-2501", "-2507",     "-diffusers", "-gguf", "-awq"});

/// Beginnings of timm's names: the library or training from which the weights come. timm documents them in its page
/// "Pretrained image models"; names of before version 0.9 have them where later names have a tag.
constexpr auto weight_sources =
    std::to_array<std::string_view>({"tv_", "tf_", "gluon_", "ssl_", "swsl_", "ig_", "legacy_", "adv_"});

struct Ending {
  std::string_view ending, replacement;
};
/// Endings of timm's names, and what stands for them in the names of models. Most are forms of training; the versions of
/// GluonCV's ResNets are other stems.
constexpr auto timm_endings = std::to_array<Ending>({{"_in21ft1k", ""},
                                                     {"_in22ft1k", ""},
                                                     {"_ns", ""},
                                                     {"_ap", ""},
                                                     {"_sam", ""},
                                                     {"_v1b", ""},
                                                     {"_v1c", "c"},
                                                     {"_v1d", "d"},
                                                     {"_v1s", "s"}});

bool is_size(std::string_view text) {
  return text.size() == 3 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Returns the name of timm's architecture for a name with a tag, `convnext_base.fb_in22k_ft_in1k_384`. A tag that ends in
/// the size of an image continues the name. Returns nothing for tags of heads with other classes than the 1,000 of ImageNet.
std::string without_tag(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || dot == 0) return {};
  std::string_view tag = name.substr(dot + 1);
  std::string size;
  if (tag.size() > 4 && tag[tag.size() - 4] == '_' && is_size(tag.substr(tag.size() - 3))) {
    size = tag.substr(tag.size() - 4);
    tag.remove_suffix(4);
  }
  return tag.ends_with("in1k") ? std::string(name.substr(0, dot)) + size : std::string();
}

/// Appends the spellings of a name of timm.
void add_timm_spellings(std::string name, std::vector<std::string>& spellings) {
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

std::vector<std::string> plainer_spellings(std::string_view name) {
  if (is_hub_name(name)) name.remove_prefix(name.find('/') + 1);
  std::string plain = lower_case(name);
  if (plain.starts_with("meta-")) plain.erase(0, 5);
  std::vector<std::string> spellings{plain};
  const auto shorten = [&spellings](std::string_view ending) {
    const std::string& longest = spellings.back();
    if (!longest.ends_with(ending) || longest.size() == ending.size()) return false;
    spellings.push_back(longest.substr(0, longest.size() - ending.size()));
    return true;
  };
  while (std::any_of(silent_endings.begin(), silent_endings.end(), shorten)) {}
  // Llama 3.1 has the sizes of Llama 3.
  const std::string last = spellings.back();
  for (const std::string_view start : {"llama-3.1-", "llama3.1-", "llama3.1_", "llama3.1 "}) {
    if (last.starts_with(start)) spellings.push_back("llama3-" + last.substr(start.size()));
  }
  add_timm_spellings(plain, spellings);
  return spellings;
}

}  // namespace ddl
