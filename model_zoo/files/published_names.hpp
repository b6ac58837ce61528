#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

/// Returns whether a name has the form of a Hugging Face repository (owner/name), and is not the name of a YAML file.
[[nodiscard]] bool is_hub_name(std::string_view name);

/// Returns spellings under which a model with a published name may be bundled, the most exact one first: without the owner,
/// without endings that do not change the model's sizes, and, for names of timm, without the library from which the weights
/// come and without the form of training.
[[nodiscard]] std::vector<std::string> plainer_spellings(std::string_view name);

/// If the name of a published checkpoint shows that the weights are quantized, returns their format as a value of `--base`:
/// `nf4-double` for `Qwen3-8B-bnb-4bit`. Empty for other names.
[[nodiscard]] std::string_view quantized_format(std::string_view name);

/// An architecture of timm, and the number of classes of its head.
struct HeadOfTag {
  std::string architecture;
  std::int64_t classes = 0;
};

/// Returns the architecture and the classes of a timm name whose tag shows that the head has other classes than the 1,000 of
/// ImageNet: `convnext_base.fb_in22k` is `convnext_base` with 21,841 classes. Returns nothing for other names.
[[nodiscard]] std::optional<HeadOfTag> head_of_tag(std::string_view name);

}  // namespace ddl
