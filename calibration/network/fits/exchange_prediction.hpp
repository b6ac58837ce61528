#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/collective.hpp"
#include "estimator/inputs/machine.hpp"

namespace ddl {

/// What the time of an exchange rests on.
enum class ExchangeBasis {
  measured,        ///< these ranks and nodes
  interpolated,    ///< between measured numbers of nodes
  extrapolated,    ///< beyond measured numbers of nodes, or far beyond measured sizes
  fitted_links,    ///< formulas with α and β that other measurements gave
  other_clusters,  ///< the data sheet, at the efficiency of published clusters with this kind of network
  data_sheet,      ///< formulas with α and β of the data sheet
};
[[nodiscard]] std::string_view to_string(ExchangeBasis basis);

/// The time of one exchange that runs alone.
struct PredictedExchange {
  Collective operation = Collective::allreduce;
  int ranks = 2, nodes = 1;
  Bytes message{};  ///< of the full vector
  Seconds time{};
  std::optional<Seconds> low{}, high{};  ///< 95 % interval; nothing where nothing was measured
  Bandwidth bus_bandwidth{};             ///< as nccl-tests defines it: what each rank's link carries
  std::string
      algorithm{};  ///< of the formulas, or what the library ran where it was measured: `Ring Simple`; else `measured`
  ExchangeBasis basis = ExchangeBasis::data_sheet;
  std::string warning{};  ///< a sentence; empty where there is nothing to warn of
};

/// Prices single exchanges as plans are priced.
class ExchangePredictor {
 public:
  /// `sheet` as its data sheet says: links are fitted to the coefficients' measurements here.
  ExchangePredictor(Machine sheet, Coefficients coefficients);

  /// `ranks` is a multiple of `nodes`, at least 2, with at most as many ranks on a node as the machine has devices there;
  /// other counts are an Error.
  [[nodiscard]] PredictedExchange predict(Collective operation, Bytes message, int ranks, int nodes) const;
  /// What was found out when the links were fitted, in sentences.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<std::string> notes_;
  Machine machine_;
  Coefficients coefficients_;
  /// By which factor formulas with fitted links miss the measurements of a level: the 95th percentile.
  std::array<std::optional<double>, 2> links_miss_{};
};

}  // namespace ddl
