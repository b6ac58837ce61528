#include "profiler/backends/window_geometry.hpp"

#include <algorithm>

namespace ddl {

WindowGeometry window_geometry(const Operation& operation, const TensorShape& large, const TensorShape& small) {
  const AttributeValues attributes = operation.attribute_values();
  const bool same = attributes.text("padding") == "same";
  const auto kernel = attributes.sizes("kernel", 1);
  const auto stride = attributes.sizes("stride", 1);
  const auto dilation = attributes.sizes("dilation", 1);
  const auto padding = same ? std::array<std::int64_t, 3>{} : attributes.sizes("padding", 0);
  WindowGeometry geometry;
  for (std::size_t d = 0; d < static_cast<std::size_t>(large.rank); ++d) {
    geometry.kernel[d] = kernel[d];
    geometry.dilation[d] = dilation[d];
    geometry.stride[d] = stride[d];
    // The number of elements by which the windows exceed the tensor; negative if the windows leave positions out.
    const std::int64_t reach = dilation[d] * (kernel[d] - 1) + 1;
    const std::int64_t rim = (small.extent[d] - 1) * stride[d] + reach - large.extent[d];
    // With `same` padding, an odd remaining position is padded at the end.
    geometry.before[d] = same ? std::max<std::int64_t>(0, rim) / 2 : padding[d];
    geometry.after[d] = rim - geometry.before[d];
  }
  return geometry;
}

}  // namespace ddl
