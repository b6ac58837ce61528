#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "calibration/inputs/host_facts.hpp"
#include "calibration/inputs/tool_text.hpp"
#include "core/lower_case.hpp"

namespace ddl {
namespace {

/// Words of a GPU's name without the vendor and the size of its memory.
struct GpuWords {
  std::set<std::string> chip;
  std::string form;  ///< `pcie`, `nvl`, `dgxs`; empty for SXM modules, and for GPUs of one form
};
GpuWords words_of_gpu(const std::string& name) {
  std::string letters = lower_case(name);
  std::replace_if(
      letters.begin(), letters.end(), [](char c) { return c == '-' || c == '_' || c == '(' || c == ')'; }, ' ');
  GpuWords found;
  for (const std::string_view part : words_in(letters)) {
    const std::string word(part);
    static const std::set<std::string> makers{"nvidia", "tesla", "quadro",   "geforce", "amd", "instinct", "radeon",
                                              "intel",  "r",     "graphics", "ac",      "oam", "mba",      "mcm"};
    const bool is_memory = word.size() > 1 && (word.ends_with("gb") || word.ends_with("g")) && word.front() >= '0' &&
                           word.front() <= '9' && word.find_first_not_of("0123456789gb") == std::string::npos;
    if (makers.contains(word) || is_memory || word.starts_with("hbm") || word.starts_with("sxm") || word == "gb") continue;
    if (word == "pcie" || word == "nvl" || word == "dgxs") {
      found.form = word;
    } else {
      found.chip.insert(word);
    }
  }
  return found;
}

}  // namespace

std::string maker_of(const std::string& gpu) {
  const std::string name = lower_case(gpu);
  const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  if (has("amd") || has("instinct") || has("radeon")) return "AMD";
  if (has("gaudi") || has("habana") || name.starts_with("hl-")) return "Habana";
  if (has("intel")) return "Intel";
  // No tool of these vendors is run; the word only distinguishes them from NVIDIA.
  for (const std::string_view maker : {"google", "aws", "huawei", "fujitsu"}) {
    if (name.starts_with(maker)) return gpu.substr(0, maker.size());
  }
  return "NVIDIA";
}

bool is_same_gpu(const std::string& a, const std::string& b) {
  const GpuWords first = words_of_gpu(a), second = words_of_gpu(b);
  return first.chip == second.chip && first.form == second.form;
}

}  // namespace ddl
