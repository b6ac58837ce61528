#include "cli/options/configurations/adapted_layers.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "cli/options/configurations/argument_meaning.hpp"
#include "core/source_text.hpp"

namespace ddl {

std::string adapted_layers(const Configuration& read, std::vector<std::string>& warnings) {
  const std::string value = read.word(ConfigField::adapter_layers);
  if (value.empty() || is_word_of("all all-linear true auto none null", value)) return {};
  constexpr std::string_view known =
      "q_proj k_proj v_proj o_proj gate_proj up_proj down_proj qkv_proj query_key_value c_attn";
  std::string names;
  for (std::size_t at = 0; at < value.size();) {
    // Tools write lists with blanks or commas, and some in brackets and quotes.
    const std::size_t end = std::min(value.find_first_of(" ,[]'\"", at), value.size());
    const std::string name = value.substr(at, end - at);
    at = end + 1;
    if (name.empty()) continue;
    if (!is_word_of(known, name)) {
      const Fact& fact = *read.find(ConfigField::adapter_layers);
      warnings.push_back(fmt::format("{}: adapters of {} are not modeled: all matrices of blocks get adapters",
                                     fact.from ? line_text(fact.from->place()) : read.file, quote(name)));
      return {};
    }
    names += fmt::format("{}{}", names.empty() ? "@lora_layers=" : "+", name);
  }
  return names;
}

}  // namespace ddl
