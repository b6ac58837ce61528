#pragma once

#include <memory>
#include <optional>

#include "model_zoo/operations/registry.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {

/// A copy of a tensor in another number format; its gradient is cast back. No layer of a model: mixed precision makes it.
/// Its line is `cast to=bf16 in=200704 samples=32 precision=fp32 pass=forward`, where `precision` is that of what forward
/// reads.
[[nodiscard]] const OperationKind& cast_kind();
/// One of them has four bytes an item and the other two.
[[nodiscard]] std::shared_ptr<const Operation> cast_to(Precision precision);
/// The format that a cast writes in forward; nothing for another operation.
[[nodiscard]] std::optional<Precision> cast_format(const Operation& operation);

}  // namespace ddl
