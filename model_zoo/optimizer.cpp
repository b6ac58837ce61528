#include "model_zoo/optimizer.hpp"

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
  }
  return "";
}

std::optional<Optimizer> parse_optimizer(std::string_view text) {
  const auto found = std::find_if(all_optimizers.begin(), all_optimizers.end(),
                                  [text](Optimizer optimizer) { return to_string(optimizer) == text; });
  return found == all_optimizers.end() ? std::nullopt : std::optional(*found);
}

}  // namespace ddl
