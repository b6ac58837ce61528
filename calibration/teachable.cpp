#include "calibration/teachable.hpp"

namespace ddl {

std::string_view to_string(Teachable what) {
  constexpr std::array<std::string_view, all_teachable.size()> names{
      "kernels",    "repeated",  "gradient_alpha", "gradient_beta", "layer_alpha",  "layer_beta",
      "halo_alpha", "halo_beta", "whole_weights",  "straggling",    "per_iteration"};
  return names[index_of(what)];
}

TeachableValues untaught() {
  TeachableValues values{};
  for (const Teachable factor :
       {Teachable::kernels, Teachable::gradient_alpha, Teachable::gradient_beta, Teachable::layer_alpha,
        Teachable::layer_beta, Teachable::halo_alpha, Teachable::halo_beta}) {
    values[index_of(factor)] = 1;
  }
  return values;
}

Learned learned_from(const TeachableValues& values) {
  const auto at = [&](Teachable what) { return values[index_of(what)]; };
  Learned learned;
  learned.kernels = at(Teachable::kernels);
  learned.repeated = at(Teachable::repeated);
  learned.gradient = {at(Teachable::gradient_alpha), at(Teachable::gradient_beta)};
  learned.layer = {at(Teachable::layer_alpha), at(Teachable::layer_beta)};
  learned.halo = {at(Teachable::halo_alpha), at(Teachable::halo_beta)};
  learned.whole_weights = SecondsPerByte(at(Teachable::whole_weights));
  learned.straggling = at(Teachable::straggling);
  learned.per_iteration = Seconds(at(Teachable::per_iteration));
  return learned;
}

}  // namespace ddl
