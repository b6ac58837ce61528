#include "estimator/facts/recompute_modules.hpp"

namespace ddl {

std::string to_string(RecomputeModules modules, std::string_view between) {
  std::string text;
  for (std::size_t i = 0; i < recompute_module_count; ++i) {
    if (!modules.contains(static_cast<RecomputeModule>(i))) continue;
    if (!text.empty()) text += between;
    text += recompute_module_names[i];
  }
  return text;
}

std::optional<RecomputeModules> parse_recompute_modules(std::string_view text) {
  RecomputeModules modules;
  while (true) {
    const std::size_t plus = text.find('+');
    const std::optional<RecomputeModule> module = enum_named(recompute_module_names, text.substr(0, plus));
    if (!module) return std::nullopt;
    modules.add(*module);
    if (plus == std::string_view::npos) return modules;
    text.remove_prefix(plus + 1);
  }
}

}  // namespace ddl
