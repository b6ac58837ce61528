#include "model_zoo/operations/sliding_window.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"

namespace ddl {

SlidingWindow SlidingWindow::read(const Attributes& attributes, std::int64_t default_stride) {
  SlidingWindow window;
  const TensorShape& input = attributes.input();
  window.rank = input.rank;
  if (input.rank == 0) {
    attributes.fail("", fmt::format("the input {} has no positions to move a window over", to_string(input)),
                    "a flat vector is for fully_connected");
  }
  const std::optional<Extents> kernel = attributes.find_extents("kernel", input.rank, 1);
  if (!kernel) attributes.fail_missing("kernel");
  window.kernel = kernel->size;
  try {
    static_cast<void>(item_count("the kernel", {kernel->size[0], kernel->size[1], kernel->size[2]}));
  } catch (const Error& error) {
    attributes.fail("kernel", error.what(), error.hint());
  }
  window.stride = window.kernel;
  if (default_stride > 0) std::fill_n(window.stride.begin(), input.rank, default_stride);
  if (const auto stride = attributes.find_extents("stride", input.rank, 1)) window.stride = stride->size;
  if (attributes.has("dilation")) window.dilation = attributes.find_extents("dilation", input.rank, 1)->size;

  const std::optional<std::string> padding = attributes.find_text("padding");
  window.same = padding == "same";
  for (std::size_t d = 0; window.same && d < static_cast<std::size_t>(input.rank); ++d) {
    const std::int64_t places = (input.extent[d] + window.stride[d] - 1) / window.stride[d];
    window.padding[d] = std::max<std::int64_t>(0, (places - 1) * window.stride[d] + window.reach(d) - input.extent[d]) / 2;
  }
  if (padding && !window.same && padding != "valid") {
    if (!parse_extents(*padding)) {
      attributes.fail("padding", fmt::format("unknown padding '{}'", *padding),
                      "write same, valid, a number, or one for each dimension");
    }
    window.padding = attributes.find_extents("padding", input.rank, 0)->size;
    // Unused dimensions have one position and no padding.
    std::fill(window.padding.begin() + input.rank, window.padding.end(), 0);
  }
  return window;
}

TensorShape SlidingWindow::slide(const TensorShape& input) const {
  if (input.rank != rank) {
    throw Error(fmt::format("the window {} does not fit the input {}", print_extents(kernel, rank), to_string(input)));
  }
  TensorShape output = input;
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
    if (same) {
      output.extent[d] = (input.extent[d] + stride[d] - 1) / stride[d];
      continue;
    }
    const std::int64_t padded = input.extent[d] + 2 * padding[d];
    if (padded < reach(d)) {
      throw Error(fmt::format("the kernel {} does not fit the input {}: it spans {} positions, but the padded input has {}",
                              print_extents(kernel, rank), to_string(input), reach(d), padded),
                  "use a smaller kernel, or padding");
    }
    output.extent[d] = (padded - reach(d) + (ceil ? stride[d] - 1 : 0)) / stride[d] + 1;
    // A window that starts after the end of the input would contain only padding.
    if (ceil && (output.extent[d] - 1) * stride[d] >= input.extent[d] + padding[d]) --output.extent[d];
  }
  return output;
}

SlidingWindow SlidingWindow::over_tile(TensorShape& input, const TensorShape& output) const {
  SlidingWindow tile = *this;
  const auto makes_output = [&](std::size_t d) {
    const std::int64_t padded = input.extent[d] + 2 * padding[d];
    const std::int64_t places = tile.same           ? (input.extent[d] + stride[d] - 1) / stride[d]
                                : padded < reach(d) ? 0
                                                    : (padded - reach(d) + (tile.ceil ? stride[d] - 1 : 0)) / stride[d] + 1;
    return places == output.extent[d];
  };
  const auto all = [&] {
    for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
      if (!makes_output(d)) return false;
    }
    return true;
  };
  if (all()) return tile;
  // `same` and `ceil` apply to all dimensions at once, and no longer hold if the padding of one dimension changes.
  tile.same = tile.ceil = false;
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
    if (makes_output(d)) continue;
    tile.padding[d] = 0;
    input.extent[d] = (output.extent[d] - 1) * stride[d] + reach(d);
  }
  return tile;
}

Operation::Window SlidingWindow::window() const {
  return {.size = {reach(0), reach(1), reach(2)}, .stride = stride, .padding = padding};
}

AttributeValues SlidingWindow::values(std::int64_t default_stride) const {
  const auto is = [](const std::array<std::int64_t, 3>& sizes, std::int64_t value) {
    return std::all_of(sizes.begin(), sizes.end(), [value](std::int64_t size) { return size == value; });
  };
  AttributeValues values{{"kernel", AttributeSizes{kernel, rank}}};
  if (default_stride != 1 || !is(stride, 1)) values.add("stride", AttributeSizes{stride, rank, true});
  if (same) {
    values.add("padding", "same");
  } else if (!is(padding, 0)) {
    values.add("padding", AttributeSizes{padding, rank, true});
  }
  if (!is(dilation, 1)) values.add("dilation", AttributeSizes{dilation, rank, true});
  if (ceil) values.add("ceil", true);
  return values;
}

AttributeValues SlidingWindow::lasting_values() const {
  return {{"kernel", AttributeSizes{kernel, rank}},
          {"stride", AttributeSizes{stride, rank}},
          {"dilation", AttributeSizes{dilation, rank}}};
}

}  // namespace ddl
