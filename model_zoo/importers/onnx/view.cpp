#include "model_zoo/importers/onnx/view.hpp"

#include <algorithm>

namespace ddl::onnx_import {

std::int64_t size_of(const Dimension& dimension) {
  std::int64_t size = 1;
  for (const Atom& atom : dimension) size *= atom.size;
  return size;
}

std::vector<std::int64_t> sizes_of(const View& view) {
  std::vector<std::int64_t> sizes;
  for (const Dimension& dimension : view.dimensions) sizes.push_back(size_of(dimension));
  return sizes;
}

Dimension whole(int axis, std::int64_t size) {
  if (size == 1) return {};
  return {{.axis = axis, .size = size, .stride = 1}};
}

void tidy(Dimension& dimension) {
  Dimension result;
  for (const Atom& atom : dimension) {
    if (atom.size == 1) continue;
    if (!result.empty() && result.back().axis == atom.axis && result.back().stride == atom.size * atom.stride) {
      result.back() = {.axis = atom.axis, .size = result.back().size * atom.size, .stride = atom.stride};
    } else {
      result.push_back(atom);
    }
  }
  dimension = std::move(result);
}

std::optional<View> reshaped(const View& view, std::span<const std::int64_t> sizes) {
  // The remaining atoms; the last one is used next.
  Dimension rest;
  for (const Dimension& dimension : view.dimensions) rest.insert(rest.end(), dimension.begin(), dimension.end());
  std::reverse(rest.begin(), rest.end());

  View result = view;
  result.dimensions.clear();
  for (std::int64_t wanted : sizes) {
    Dimension dimension;
    while (wanted > 1) {
      if (rest.empty()) return std::nullopt;
      Atom& atom = rest.back();
      if (wanted % atom.size == 0) {
        wanted /= atom.size;
        dimension.push_back(atom);
        rest.pop_back();
      } else if (atom.size % wanted == 0) {
        const std::int64_t inner = atom.size / wanted;
        dimension.push_back({.axis = atom.axis, .size = wanted, .stride = atom.stride * inner});
        atom.size = inner;
        wanted = 1;
      } else {
        return std::nullopt;
      }
    }
    if (wanted != 1) return std::nullopt;
    tidy(dimension);
    result.dimensions.push_back(std::move(dimension));
  }
  if (!rest.empty()) return std::nullopt;
  return result;
}

View transposed(const View& view, std::span<const std::int64_t> order) {
  View result = view;
  for (std::size_t i = 0; i < order.size(); ++i) {
    result.dimensions[i] = view.dimensions[static_cast<std::size_t>(order[i])];
  }
  return result;
}

std::optional<View> sliced(const View& view, std::size_t dimension, std::int64_t start, std::int64_t count,
                           std::int64_t step) {
  View result = view;
  Dimension& atoms = result.dimensions[dimension];
  if (start == 0 && count == size_of(atoms)) return result;
  if (atoms.empty()) return std::nullopt;
  // If there are several atoms, only the slowest atom can be split, in multiples of the other atoms.
  const Atom first = atoms.front();
  const std::int64_t round = size_of(atoms) / first.size;
  if (first.axis < channels || start % round != 0 || count % round != 0 || (step != 1 && round != 1)) return std::nullopt;
  atoms.front().size = count / round;
  atoms.front().stride *= step;
  result.offset[static_cast<std::size_t>(first.axis)] += start / round * first.stride;
  tidy(atoms);
  return result;
}

View image_view(int tensor, const Dimension& samples, const TensorShape& shape) {
  View view{.tensor = tensor, .dimensions = {samples, whole(channels, shape.channels)}};
  for (int d = 0; d < shape.rank; ++d) {
    view.dimensions.push_back(whole(first_position + d, shape.extent[static_cast<std::size_t>(d)]));
  }
  return view;
}

TensorShape image_shape(std::span<const std::int64_t> sizes) {
  TensorShape shape{.channels = sizes[0], .rank = static_cast<int>(sizes.size()) - 1};
  std::copy(sizes.begin() + 1, sizes.end(), shape.extent.begin());
  return shape;
}

std::optional<View> compacted(const View& view, const TensorShape& shape, TensorShape& inner) {
  View result = view;
  result.offset = {0, 0, 0, 0};
  inner = shape;
  for (int axis = channels; axis <= shape.rank; ++axis) {
    std::vector<Atom*> atoms;
    for (Dimension& dimension : result.dimensions) {
      for (Atom& atom : dimension) {
        if (atom.axis == axis) atoms.push_back(&atom);
      }
    }
    std::stable_sort(atoms.begin(), atoms.end(), [](const Atom* a, const Atom* b) { return a->stride < b->stride; });
    std::int64_t seen = 1, reach = 1;
    for (Atom* const atom : atoms) {
      if (atom->stride < reach) return std::nullopt;
      reach = atom->stride * (atom->size - 1) + reach;
      atom->stride = seen;
      seen *= atom->size;
    }
    (axis == channels ? inner.channels : inner.extent[static_cast<std::size_t>(axis - 1)]) = seen;
  }
  for (Dimension& dimension : result.dimensions) tidy(dimension);
  return result;
}

Dimension atoms_of(const View& view, int axis) {
  Dimension found;
  for (const Dimension& dimension : view.dimensions) {
    for (const Atom& atom : dimension) {
      if (atom.axis == axis) found.push_back(atom);
    }
  }
  return found;
}

bool has_axis(const Dimension& dimension, int axis) {
  return std::any_of(dimension.begin(), dimension.end(), [axis](const Atom& atom) { return atom.axis == axis; });
}

bool is_whole(const View& view, std::size_t dimension, int axis, const TensorShape& shape) {
  const std::int64_t size = axis == channels ? shape.channels : shape.extent[static_cast<std::size_t>(axis - 1)];
  return view.offset[static_cast<std::size_t>(axis)] == 0 && view.dimensions[dimension] == whole(axis, size);
}

bool sees_all(const View& view, const TensorShape& shape) {
  std::int64_t seen = 1;
  for (const Dimension& dimension : view.dimensions) {
    for (const Atom& atom : dimension) {
      if (atom.axis == repeated) return false;
      if (atom.axis != batch) seen *= atom.size;
    }
  }
  return seen == shape.items() && view.offset == std::array<std::int64_t, 4>{0, 0, 0, 0};
}

}  // namespace ddl::onnx_import
