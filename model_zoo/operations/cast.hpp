#pragma once

#include <memory>
#include <optional>

#include "model_zoo/operations/registry.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {

/// A copy of a tensor in another number format. Backward casts the gradient back. A cast is not a
/// layer of a model, but a result of mixed precision. The line of a cast is `cast to=bf16 in=200704
/// samples=32 precision=fp32 pass=forward`, where `precision` is the precision of forward's input.
[[nodiscard]] const OperationKind& cast_kind();
/// Returns a cast to this precision. One of the two formats of a cast has four bytes per element, and the other has two.
[[nodiscard]] std::shared_ptr<const Operation> cast_to(Precision precision);
/// Returns the format that a cast writes in forward; empty for an operation that is not a cast.
[[nodiscard]] std::optional<Precision> cast_format(const Operation& operation);

}  // namespace ddl
