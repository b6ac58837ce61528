#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "core/enum_array.hpp"

namespace ddl {

/// A part of a block that selective recomputation can recompute, by Megatron Core's name [NVIDIA,
/// Megatron-LM, megatron/core/transformer/transformer_config.py, `recompute_modules`]. In this
/// list, a module that contains other modules comes after them.
enum class RecomputeModule {
  core_attn,       ///< attention between its input and output projections [Kort22, section 5]
  moe_act,         ///< the operations between the matrix products of experts
  layernorm,       ///< the norms before attention and before the MLP
  mla_up_proj,     ///< in multi-head latent attention, the projections of compressed queries, keys and values
  mlp,             ///< an MLP without experts, without the norm before the MLP
  shared_experts,  ///< the experts that process all tokens
  moe,             ///< experts with their router, from the norm to the combined output
};
inline constexpr std::size_t recompute_module_count = enum_count<RecomputeModule>();
inline constexpr EnumNames<RecomputeModule> recompute_module_names{"core_attn", "moe_act",        "layernorm", "mla_up_proj",
                                                                   "mlp",       "shared_experts", "moe"};

/// Returns whether the output of a module is discarded after its forward, and recomputed for the readers in backward.
/// Otherwise the output is kept until no reader needs it, and the module is recomputed for its own backward [NVIDIA,
/// Megatron-LM, megatron/core/transformer/transformer_config.py: "moe_act, layernorm and mla_up_proj use output-discarding
/// checkpointing"].
[[nodiscard]] constexpr bool drops_output(RecomputeModule module) {
  return module == RecomputeModule::moe_act || module == RecomputeModule::layernorm ||
         module == RecomputeModule::mla_up_proj;
}

/// A set of modules, such as the modules that a plan recomputes or the modules that a layer belongs to.
class RecomputeModules {
 public:
  constexpr RecomputeModules() = default;
  constexpr RecomputeModules(std::initializer_list<RecomputeModule> modules) {
    for (const RecomputeModule module : modules) add(module);
  }
  /// Returns the set with this number: 0 is attention alone, and every number up to `last_number` is a non-empty set.
  [[nodiscard]] static constexpr RecomputeModules numbered(int number) {
    RecomputeModules set;
    set.bits_ = static_cast<unsigned>(number) + 1;
    return set;
  }
  static constexpr int last_number = (1 << recompute_module_count) - 2;

  constexpr void add(RecomputeModule module) { bits_ |= bit(module); }
  constexpr void add(RecomputeModules others) { bits_ |= others.bits_; }
  [[nodiscard]] constexpr bool contains(RecomputeModule module) const { return (bits_ & bit(module)) != 0; }
  [[nodiscard]] constexpr bool is_empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr int number() const { return static_cast<int>(bits_) - 1; }
  [[nodiscard]] constexpr RecomputeModules in_common(RecomputeModules others) const {
    RecomputeModules set;
    set.bits_ = bits_ & others.bits_;
    return set;
  }
  /// Returns the modules of this set that are not in the set `others`.
  [[nodiscard]] constexpr RecomputeModules without(RecomputeModules others) const {
    RecomputeModules set;
    set.bits_ = bits_ & ~others.bits_;
    return set;
  }
  /// Returns the largest module of the set, which may contain the other modules of the set; empty for an empty set.
  [[nodiscard]] constexpr std::optional<RecomputeModule> outermost() const {
    for (std::size_t i = recompute_module_count; i-- > 0;) {
      if (contains(static_cast<RecomputeModule>(i))) return static_cast<RecomputeModule>(i);
    }
    return std::nullopt;
  }

  friend constexpr bool operator==(const RecomputeModules&, const RecomputeModules&) = default;
  friend constexpr auto operator<=>(const RecomputeModules&, const RecomputeModules&) = default;

 private:
  [[nodiscard]] static constexpr unsigned bit(RecomputeModule module) { return 1U << static_cast<unsigned>(module); }
  unsigned bits_ = 0;
};

/// Returns the names of the modules, joined by `between`: `core_attn+moe_act`.
[[nodiscard]] std::string to_string(RecomputeModules modules, std::string_view between = "+");
/// Parses names of modules that are joined by `+`, in any order; empty if a name is unknown.
[[nodiscard]] std::optional<RecomputeModules> parse_recompute_modules(std::string_view text);

}  // namespace ddl
