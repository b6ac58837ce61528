#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/strategies/strategy.hpp"

namespace ddl {

/// The load of the rank with the largest load, divided by the mean over ranks.
struct TableLoads {
  double parameters = 1;
  double rows = 1;     ///< elements of rows that the lookups of a step read
  double vectors = 1;  ///< elements of vectors that the rank sends
};
/// How often lookups read the rows of a table. The i-th most frequent row is read in proportion to i^−exponent (Zipf's law).
struct RowFrequency {
  double rows = 0, exponent = 0;
  /// Returns the share of lookups that read the most frequent rows.
  [[nodiscard]] double share_of(double most_frequent) const;
  /// Returns the number of rows that this number of lookups reads `times` or more times on average.
  [[nodiscard]] double rows_read(double lookups, double times) const;
  /// Returns the number of different rows that lookups read: all rows that are read at least once on average, and one row
  /// for each lookup of other rows.
  [[nodiscard]] double different_rows(double lookups) const;
};
/// Returns the exponent with which `frequent_lookups` is the share of lookups that read the most frequent hundredth of the
/// rows of the largest table; 0, equally frequent rows, if the share is 0.
[[nodiscard]] double zipf_exponent(const std::vector<LookupTable>& tables, double frequent_lookups);

/// Places each table on one of `ranks` ranks: the table with the largest share of parameters or of looked up rows first, on
/// the rank whose larger share of both then is smallest [Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl.
/// Math. 1969: longest processing time first].
[[nodiscard]] TableLoads place_tables(const std::vector<LookupTable>& tables, int ranks);

/// Returns whether the ranks of a plan can hold all tables of the model in this way.
[[nodiscard]] bool may_distribute_tables(const ModelFacts& facts, const Plan& plan, Tables tables);
/// Returns the number of ways in which the ranks of a plan's mesh can distribute tables.
[[nodiscard]] int ways_to_distribute_tables(const ModelFacts& facts, const Plan& plan);
/// Returns whether the plan distributes the tables of the model.
[[nodiscard]] bool distributes_tables(const ModelFacts& facts, const Plan& plan);

[[nodiscard]] std::string_view tables_words(Tables tables);
/// Returns the notation of a way to hold tables: `tw` (table-wise), `rw` or `cw`.
[[nodiscard]] std::string_view tables_sign(Tables tables);

/// Returns the notation of the segments of tables: `t1:dp t9:cw`, where replicated tables are `dp`; empty if all tables are
/// held in one way.
[[nodiscard]] std::string table_segments_text(const Plan& plan);
/// Parses one segment of this notation; empty if `part` is not a segment.
[[nodiscard]] std::optional<TableSegment> parse_table_segment(std::string_view part);

void table_limits(const LimitContext& context, Limits& limits);
/// Describes one rank's shard of a layer of a table, and the gradient of a lookup if gradients are sparse.
void shard_tables(const ShardContext& context, LayerShard& shard);

}  // namespace ddl
