#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "estimator/plan/axis.hpp"

namespace ddl {

/// The numbers of tiles along the extents of a sample, in the order of the extents (d×h×w or h×w).
using Tiles = std::array<int, 3>;

/// The mesh of ranks: a degree for each axis, whose product is the number of devices.
class Mesh {
 public:
  static_assert(row_of(Axis::spatial).extents == std::tuple_size_v<Tiles>);
  /// The degree of each dimension. The dimensions of an axis start at `first_dimension_of`.
  using Degrees = std::array<int, mesh_dimensions>;

  constexpr Mesh() { degrees_.fill(1); }
  constexpr Mesh(std::initializer_list<std::pair<Axis, int>> degrees) : Mesh() {
    for (const auto& [axis, degree] : degrees) set(axis, degree);
  }
  explicit constexpr Mesh(const Tiles& tiles) : Mesh() { set_tiles(tiles); }

  /// Returns the degree of an axis, which is the product of its dimensions.
  [[nodiscard]] constexpr int operator[](Axis axis) const {
    const std::size_t first = first_dimension_of(axis);
    int degree = degrees_[first];
    for (std::size_t d = 1; d < row_of(axis).extents; ++d) degree *= degrees_[first + d];
    return degree;
  }
  /// Sets the degree of an axis. If the axis has several dimensions, the whole degree is along the first dimension.
  constexpr void set(Axis axis, int degree) {
    const std::size_t first = first_dimension_of(axis);
    degrees_[first] = degree;
    for (std::size_t d = 1; d < row_of(axis).extents; ++d) degrees_[first + d] = 1;
  }
  [[nodiscard]] constexpr Tiles tiles() const {
    constexpr std::size_t first = first_dimension_of(Axis::spatial);
    return {degrees_[first], degrees_[first + 1], degrees_[first + 2]};
  }
  constexpr void set_tiles(const Tiles& tiles) {
    for (std::size_t d = 0; d < tiles.size(); ++d) degrees_[first_dimension_of(Axis::spatial) + d] = tiles[d];
  }

  /// Returns the product of the degrees of these axes.
  [[nodiscard]] constexpr double product(Family axes) const {
    double product = 1;
    for (const Axis axis : all_axes) product *= (axes & family_bit(axis)) != 0 ? (*this)[axis] : 1;
    return product;
  }
  /// Returns the number of parts that a batch is divided into.
  [[nodiscard]] constexpr std::int64_t batch_parts() const { return static_cast<std::int64_t>(product(batch_axes)); }
  /// Returns the number of ranks that hold replicas of the weights, not counting experts.
  [[nodiscard]] constexpr double replicas() const { return product(replica_axes); }
  [[nodiscard]] std::int64_t devices() const;
  /// Returns the axes with a degree above one; 0 is `serial`.
  [[nodiscard]] Family family() const;
  /// Returns the degrees of all dimensions, for callers that enumerate meshes.
  [[nodiscard]] Degrees& degrees() { return degrees_; }
  [[nodiscard]] const Degrees& degrees() const { return degrees_; }

  friend bool operator==(const Mesh&, const Mesh&) = default;
  friend auto operator<=>(const Mesh&, const Mesh&) = default;

 private:
  Degrees degrees_{};
};

/// Returns the degree of an axis as text. The text of the spatial axis is `2x4`, with a third
/// number only if the third extent is split. The text of other axes is a number.
[[nodiscard]] std::string degree_text(const Mesh& mesh, Axis axis);
/// Returns the degrees above one as text: `data=64 spatial=2x2`; `1 device` if all degrees are one.
[[nodiscard]] std::string degrees_text(const Mesh& mesh);

}  // namespace ddl
