#pragma once

#include <string_view>

#include "estimator/strategies/strategy.hpp"

namespace ddl {

/// The load of the rank with the largest load, divided by the mean over ranks.
struct TableLoads {
  double parameters = 1;
  double rows = 1;     ///< elements of rows that the lookups of a step read
  double vectors = 1;  ///< elements of vectors that the rank sends
};
/// Places each table on one of `ranks` ranks: the table with the largest share of parameters or of looked up rows first, on
/// the rank whose larger share of both then is smallest [Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl.
/// Math. 1969: longest processing time first].
[[nodiscard]] TableLoads place_tables(const std::vector<LookupTable>& tables, int ranks);

/// Returns whether the ranks of a plan can hold the tables of the model in this way.
[[nodiscard]] bool may_distribute_tables(const ModelFacts& facts, const Plan& plan, Tables tables);
/// Returns the number of ways in which the ranks of a plan's mesh can distribute tables.
[[nodiscard]] int ways_to_distribute_tables(const ModelFacts& facts, const Plan& plan);
/// Returns whether the plan distributes the tables of the model.
[[nodiscard]] bool distributes_tables(const ModelFacts& facts, const Plan& plan);

[[nodiscard]] std::string_view tables_words(Tables tables);
/// Returns the notation of a way to hold tables: `tw` (table-wise), `rw` or `cw`.
[[nodiscard]] std::string_view tables_sign(Tables tables);

void table_limits(const LimitContext& context, Limits& limits);
/// Describes one rank's shard of a layer of a table, and the gradient of a lookup if gradients are sparse.
void shard_tables(const ShardContext& context, LayerShard& shard);

}  // namespace ddl
