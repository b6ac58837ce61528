#include "estimator/plan/mesh.hpp"

namespace ddl {

std::int64_t Mesh::devices() const {
  std::int64_t product = 1;
  for (const int degree : degrees_) product *= degree;
  return product;
}

Family Mesh::family() const {
  Family family = 0;
  for (const Axis axis : all_axes) {
    if ((*this)[axis] > 1) family |= family_bit(axis);
  }
  return family;
}

std::string degree_text(const Mesh& mesh, Axis axis) {
  if (axis != Axis::spatial) return std::to_string(mesh[axis]);
  const auto [d, h, w] = mesh.tiles();
  const std::string plane = std::to_string(d) + 'x' + std::to_string(h);
  return w > 1 ? plane + 'x' + std::to_string(w) : plane;
}

std::string degrees_text(const Mesh& mesh) {
  std::string text;
  for (const Axis axis : spoken_axes) {
    if (mesh[axis] == 1) continue;
    if (!text.empty()) text += ' ';
    text.append(to_string(axis)).append("=").append(degree_text(mesh, axis));
  }
  return text.empty() ? "1 device" : text;
}

}  // namespace ddl
