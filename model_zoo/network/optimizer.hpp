#pragma once

#include <optional>
#include <string_view>

#include "core/enum_array.hpp"

namespace ddl {

enum class Optimizer {
  sgd,
  momentum,
  adam,
  adamw,
  lamb,
  adafactor,
  adam8bit,
  muon,
  paged_adamw,
  paged_adam8bit,
  lars,
  adagrad,
  rowwise_adagrad,
  kfac,
  shampoo,
  soap,
  galore,
  galore8bit,
  apollo
};
template <>
inline constexpr EnumNames<Optimizer> enum_names<Optimizer>{
    "sgd",     "momentum",    "adam",           "adamw",      "lamb",    "adafactor",       "adam8bit",
    "muon",    "paged-adamw", "paged-adam8bit", "lars",       "adagrad", "rowwise-adagrad", "kfac",
    "shampoo", "soap",        "galore",         "galore8bit", "apollo"};
/// The names of all optimizers, for messages.
inline constexpr std::string_view optimizer_words =
    "sgd, momentum, adam, adamw, lamb, adafactor, adam8bit, muon, paged-adamw, paged-adam8bit, lars, adagrad, "
    "rowwise-adagrad, kfac, shampoo, soap, galore, galore8bit or apollo";

/// Whether the driver moves the optimizer's state to host memory if device memory is short [Dettmers et al., "QLoRA", 2023,
/// section 3, "Paged optimizers"].
[[nodiscard]] constexpr bool is_paged(Optimizer optimizer) {
  return optimizer == Optimizer::paged_adamw || optimizer == Optimizer::paged_adam8bit;
}
/// Whether the optimizer is an Adam with moments of 8 bits.
[[nodiscard]] constexpr bool has_8bit_state(Optimizer optimizer) {
  return optimizer == Optimizer::adam8bit || optimizer == Optimizer::paged_adam8bit || optimizer == Optimizer::galore8bit;
}
/// Whether the optimizer projects the gradients of matrices to a low rank, and has the moments of Adam of the projections
/// [Zhao et al., "GaLore", ICML 2024, algorithm 2; Zhu et al., "APOLLO", MLSys 2025, algorithm 1].
[[nodiscard]] constexpr bool is_projected(Optimizer optimizer) {
  return optimizer == Optimizer::galore || optimizer == Optimizer::galore8bit || optimizer == Optimizer::apollo;
}
/// Whether the projection consists of singular vectors of the gradient, in place of random vectors.
[[nodiscard]] constexpr bool projects_by_singular_vectors(Optimizer optimizer) {
  return optimizer == Optimizer::galore || optimizer == Optimizer::galore8bit;
}

/// Whether the optimizer multiplies the gradients of matrices by matrices that it decomposes from time to time.
[[nodiscard]] constexpr bool is_preconditioned(Optimizer optimizer) {
  return optimizer == Optimizer::kfac || optimizer == Optimizer::shampoo || optimizer == Optimizer::soap;
}

/// Whether the optimizer's update consists of kernels of its own, however the framework runs other updates: Apex's LAMB and
/// the 8-bit Adam of bitsandbytes.
[[nodiscard]] constexpr bool has_own_kernels(Optimizer optimizer) {
  return optimizer == Optimizer::lamb || has_8bit_state(optimizer);
}

/// Returns the optimizer whose update is measured in place of the update of `optimizer`. Back ends
/// run the updates of SGD, momentum and Adam.
[[nodiscard]] constexpr Optimizer timed_as(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::adamw:
    case Optimizer::lamb:
    case Optimizer::adam8bit:
    case Optimizer::paged_adamw:
    case Optimizer::paged_adam8bit:
    case Optimizer::shampoo:
    case Optimizer::soap:
    case Optimizer::galore:
    case Optimizer::galore8bit:
    case Optimizer::apollo:
      return Optimizer::adam;
    case Optimizer::adafactor:
    case Optimizer::muon:
    case Optimizer::lars:
    case Optimizer::adagrad:
    case Optimizer::rowwise_adagrad:
    case Optimizer::kfac:
      return Optimizer::momentum;
    default:
      return optimizer;
  }
}

/// Parses the name of an optimizer with an update that can be measured; empty for any other name.
[[nodiscard]] constexpr std::optional<Optimizer> parse_measured_optimizer(std::string_view text) {
  const std::optional<Optimizer> optimizer = parse_enum<Optimizer>(text);
  return optimizer && timed_as(*optimizer) == *optimizer ? optimizer : std::nullopt;
}

/// Returns the number of words of state that the update reads and writes per parameter: one for
/// momentum, two for the moments of Adam.
[[nodiscard]] constexpr int optimizer_slots(Optimizer optimizer) {
  const Optimizer timed = timed_as(optimizer);
  return timed == Optimizer::adam ? 2 : (timed == Optimizer::momentum ? 1 : 0);
}

/// Returns the bytes of state per parameter. Adam, AdamW and LAMB have two moments of 4 bytes. With 8 bits, there are two
/// moments of one byte, and one scale of 4 bytes per 2048 elements [Dettmers et al., "8-bit optimizers via block-wise
/// quantization", ICLR 2022]. Adafactor has no state per parameter, but one element for each row and column of a matrix
/// [Shazeer & Stern, "Adafactor", ICML 2018]. Muon has one moment of 4 bytes for each element of a matrix [Jordan et al.,
/// "Muon: An optimizer for hidden layers in neural networks", 2024]. Other parameters, such as embeddings, have the moments
/// of Adam (ModelFacts::muon_share). LARS has one momentum [You, Gitman and Ginsburg, arXiv 1708.03888, algorithm 1].
/// Adagrad has a sum of squares for each parameter. Row-wise Adagrad has one for each row of a table and for each other
/// parameter (ModelFacts::rowwise_share) [FBGEMM, EmbOptimType.EXACT_ROWWISE_ADAGRAD]. K-FAC preconditions the gradients of
/// SGD with momentum; Shampoo has a momentum and the moment of the Adam that gives the size of its updates [Shi et al.,
/// arXiv 2309.06497, abstract]; SOAP has the moments of Adam [Vyas et al., arXiv 2409.11321, algorithm 3]. Their
/// matrices are counted by preconditioner_items. GaLore and APOLLO have the moments that projected_state counts.
[[nodiscard]] constexpr double optimizer_state_bytes(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::momentum:
    case Optimizer::muon:
    case Optimizer::lars:
    case Optimizer::adagrad:
    case Optimizer::kfac:
      return 4;
    case Optimizer::adam:
    case Optimizer::adamw:
    case Optimizer::lamb:
    case Optimizer::paged_adamw:
    case Optimizer::shampoo:
    case Optimizer::soap:
      return 8;
    case Optimizer::adam8bit:
    case Optimizer::paged_adam8bit:
      return 2 * (1 + 4.0 / 2048);
    default:
      return 0;
  }
}

}  // namespace ddl
