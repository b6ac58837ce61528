#include "calibration/inputs/machine_basis.hpp"

#include <algorithm>
#include <array>

namespace ddl {
namespace {

/// Whether times of kernels depend on the number with this key.
bool is_of_kernels(std::string_view key) {
  constexpr std::array<std::string_view, 5> others{"device.memory_bandwidth", "device.attainable_peak",
                                                   "device.attainable_bandwidth", "device.launch_overhead",
                                                   "device.host_speed"};
  return key.starts_with("device.peak.") || std::find(others.begin(), others.end(), key) != others.end();
}

/// Whether times of exchanges depend on the number with this key. The number of units of a level
/// does not count, because every machine file has it.
bool is_of_network(std::string_view key) {
  if (key.starts_with("topology.")) return key.ends_with("bandwidth") || key.ends_with("latency");
  return key.starts_with("levels.") &&
         (key.ends_with(".latency") || key.ends_with(".bandwidth") || key.ends_with(".attainable"));
}

template <class IsMeant>
NumberBasis basis_of_numbers(const SourcedMachine& sourced, const IsMeant& is_meant) {
  bool measured = false, assumed = false;
  for (const SourcedNumber& number : sourced.numbers) {
    if (!is_meant(number.key)) continue;
    if (number.source.starts_with("measured:") || number.source.starts_with("fitted:")) {
      measured = true;
    } else if (number.source.find("assumed") != std::string::npos) {
      assumed = true;
    }
  }
  if (measured) return assumed ? NumberBasis::mixed : NumberBasis::published;
  return assumed ? NumberBasis::assumed : NumberBasis::data_sheet;
}

}  // namespace

MachineBasis basis_of(const SourcedMachine& sourced, const std::optional<Coefficients>& coefficients) {
  MachineBasis basis{basis_of_numbers(sourced, is_of_kernels), basis_of_numbers(sourced, is_of_network)};
  if (sourced.has_kernels) basis.kernels = NumberBasis::published;
  if (coefficients && !coefficients->models.empty()) basis.kernels = NumberBasis::measured;
  if (coefficients && !coefficients->exchanges.empty()) {
    const std::vector<MeasuredCurve>& curves = coefficients->exchanges.curves();
    const bool between =
        std::any_of(curves.begin(), curves.end(), [](const MeasuredCurve& curve) { return curve.nodes > 1; });
    basis.network = between || sourced.machine.levels.size() < 2 ? NumberBasis::measured : NumberBasis::mixed;
  }
  return basis;
}

}  // namespace ddl
