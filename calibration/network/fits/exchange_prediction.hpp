#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_array.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/collective.hpp"
#include "estimator/inputs/machine.hpp"

namespace ddl {

/// What a predicted exchange time is based on.
enum class ExchangeBasis {
  measured,        ///< a measurement with these ranks and nodes
  scaled,          ///< a measurement with these ranks and nodes, times factors that were fitted to training runs
  interpolated,    ///< interpolation between measured numbers of nodes
  extrapolated,    ///< extrapolation beyond measured numbers of nodes, or far beyond measured sizes
  fitted_links,    ///< formulas with α and β fitted to other measurements
  other_clusters,  ///< the datasheet, with the efficiency of published clusters with this kind of network
  data_sheet,      ///< formulas with α and β of the datasheet
};
template <>
inline constexpr EnumNames<ExchangeBasis> enum_names<ExchangeBasis>{
    "measured", "scaled", "interpolated", "extrapolated", "fitted links", "other clusters", "data sheet"};

/// The name of the row of by_algorithm() that no algorithm can be faster than.
inline constexpr std::string_view lower_bound_name = "lower-bound";

/// The cluster on which the coefficients were measured.
enum class MeasuredOn { own_cluster, published_cluster };

/// Describes the algorithm and route that a software prescribes for exchanges of gradients, to which measured times of the
/// fastest exchanges do not apply: `by a ring, through the host`; empty if it prescribes nothing. `leaves_node`: whether
/// exchanges cross nodes; only these are staged.
[[nodiscard]] std::string prescribed_exchanges(const Software& software, const Machine& machine, bool leaves_node);

/// The predicted time of an exchange that runs alone.
struct PredictedExchange {
  Collective operation = Collective::allreduce;
  int ranks = 2, nodes = 1;
  Bytes message{};  ///< bytes of the full vector
  Seconds time{};
  std::optional<Seconds> low{}, high{};  ///< 95 % interval; unset for messages of two ranks without measurements
  Bandwidth bus_bandwidth{};             ///< bandwidth of each rank's link, as nccl-tests defines it
  std::string algorithm{};               ///< algorithm of the formula or of the measurement (`Ring Simple`), else `measured`
  ExchangeBasis basis = ExchangeBasis::data_sheet;
  std::string warning{};  ///< a remark, as a sentence; may be empty
};

/// Predicts single exchanges with the same model that plans use.
class ExchangePredictor {
 public:
  /// Fits links to the measurements in the coefficients. `sheet`: the machine according to its datasheet.
  /// The intervals of a published cluster's measurements include the differences of software stacks.
  ExchangePredictor(Machine sheet, Coefficients coefficients, MeasuredOn measured_on = MeasuredOn::own_cluster);

  /// Predicts one exchange. `ranks` must be at least 2 and a multiple of `nodes`. A node must have
  /// at most as many ranks as the machine's nodes have devices. Otherwise throws Error.
  [[nodiscard]] PredictedExchange predict(Collective operation, Bytes message, int ranks, int nodes) const;
  /// Predicts an Allreduce or a Reduce with each algorithm by the formulas of the links, the fastest first, and the lower
  /// bound. `wanted`: the names of the algorithms; empty for all. Throws Error like predict().
  [[nodiscard]] std::vector<PredictedExchange> by_algorithm(Collective operation, Bytes message, int ranks, int nodes,
                                                            std::span<const std::string_view> wanted = {}) const;
  /// Remarks on the fit of the links, in sentences.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<std::string> notes_;
  Machine machine_;
  Coefficients coefficients_;
  MeasuredOn measured_on_;
  /// For each level, the 95th percentile of the error of formulas with fitted links, as a factor,
  /// over the level's measurements.
  std::array<std::optional<double>, 2> links_miss_{};
};

}  // namespace ddl
