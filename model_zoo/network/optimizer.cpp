#include "model_zoo/network/optimizer.hpp"

#include <algorithm>

namespace ddl {

std::string_view to_string(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd:
      return "sgd";
    case Optimizer::momentum:
      return "momentum";
    case Optimizer::adam:
      return "adam";
    case Optimizer::adamw:
      return "adamw";
    case Optimizer::lamb:
      return "lamb";
    case Optimizer::adafactor:
      return "adafactor";
    case Optimizer::adam8bit:
      return "adam8bit";
  }
  return "";
}

std::optional<Optimizer> parse_optimizer(std::string_view text) {
  const auto found = std::find_if(all_optimizers.begin(), all_optimizers.end(),
                                  [text](Optimizer optimizer) { return to_string(optimizer) == text; });
  return found == all_optimizers.end() ? std::nullopt : std::optional(*found);
}

std::optional<Optimizer> parse_measured_optimizer(std::string_view text) {
  const std::optional<Optimizer> optimizer = parse_optimizer(text);
  return optimizer && timed_as(*optimizer) == *optimizer ? optimizer : std::nullopt;
}

std::vector<std::string_view> optimizer_names() {
  std::vector<std::string_view> names;
  for (const Optimizer optimizer : all_optimizers) names.push_back(to_string(optimizer));
  return names;
}

}  // namespace ddl
