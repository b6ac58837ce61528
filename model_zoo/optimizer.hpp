#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace ddl {

enum class Optimizer { sgd, momentum, adam };
inline constexpr std::array<Optimizer, 3> all_optimizers{Optimizer::sgd, Optimizer::momentum, Optimizer::adam};
[[nodiscard]] std::string_view to_string(Optimizer optimizer);
[[nodiscard]] std::optional<Optimizer> parse_optimizer(std::string_view text);

/// Words of state that the optimizer keeps for each parameter: the momentum; both moments of Adam.
[[nodiscard]] constexpr int optimizer_slots(Optimizer optimizer) {
  return optimizer == Optimizer::adam ? 2 : (optimizer == Optimizer::momentum ? 1 : 0);
}

}  // namespace ddl
