#include "estimator/strategies/embedding_tables.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "estimator/exchanges/gradient_exchange.hpp"

namespace ddl {
namespace {

constexpr EnumNames<Tables> table_signs{"", "tw", "rw", "cw", "hy"};
constexpr EnumNames<Tables> table_words{"", "whole tables", "tables by rows", "tables by columns",
                                        "tables with frequent rows on all ranks"};

/// Returns the tables that a plan holds in one way.
std::vector<LookupTable> tables_held(const ModelFacts& facts, const Plan& plan, Tables way) {
  std::vector<LookupTable> tables;
  for (std::size_t i = 0; i < facts.tables.size(); ++i) {
    if (tables_of(plan, i) == way) tables.push_back(facts.tables[i]);
  }
  return tables;
}

double sum_of_vectors(const std::vector<LookupTable>& tables) {
  return std::accumulate(tables.begin(), tables.end(), 0.0,
                         [](double sum, const LookupTable& each) { return sum + each.columns; });
}

int least_columns(const std::vector<LookupTable>& tables) {
  const auto least = std::min_element(tables.begin(), tables.end(),
                                      [](const LookupTable& a, const LookupTable& b) { return a.columns < b.columns; });
  return least == tables.end() ? 0 : static_cast<int>(least->columns);
}

/// Returns the number of ranks that hold parts of one table. With more ranks than columns, each group of ranks holds whole
/// tables, and each rank of the group holds columns of these tables [TorchRec, ShardingType.COLUMN_WISE: shards of a table
/// are placed on some of the ranks].
int ranks_of_a_table(const std::vector<LookupTable>& tables, Tables way, int ranks) {
  if (way == Tables::rows) return ranks;
  if (way != Tables::columns) return 1;
  int most = std::max(1, std::min(ranks, least_columns(tables)));
  while (most > 1 && ranks % most != 0) --most;
  return most;
}

/// The tables that a plan holds in one way, and the groups of ranks that hold them.
struct TableGroups {
  TableGroups(const ModelFacts& facts, const Plan& plan, Tables way)
      : tables(tables_held(facts, plan, way)),
        parts(way == Tables::hybrid ? plan.mesh[Axis::data] : ranks_of_a_table(tables, way, plan.mesh[Axis::data])),
        groups(plan.mesh[Axis::data] / parts),
        loads(groups > 1 ? place_tables(tables, groups) : TableLoads()) {}

  std::vector<LookupTable> tables;
  int parts, groups;
  TableLoads loads;
};

/// Returns the lookups of a table in a step, on all ranks.
double lookups_of(const Plan& plan, const LookupTable& table) {
  return static_cast<double>(plan.global_batch) * table.lookups;
}

RowFrequency frequency_of(const ShardContext& context, const LookupTable& table) {
  return {table.rows, zipf_exponent(context.facts.tables, context.assumptions.frequent_lookups)};
}

/// Returns the number of rows of a table that are replicated under `Tables::hybrid`: those that a rank looks up at least
/// once in a step, on average. All-to-alls of their vectors and gradients would have as many bytes as an Allreduce of their
/// gradients. On several nodes, HugeCTR compares them in the same way, by the bandwidth of each [NVIDIA, HugeCTR,
/// HybridEmbeddingParam, `max_all_reduce_bandwidth` and `max_all_to_all_bandwidth`].
double replicated_rows(const ShardContext& context, const LookupTable& table) {
  return frequency_of(context, table).rows_read(lookups_of(context.plan, table), context.plan.mesh[Axis::data]);
}

/// Returns the elements per sample that ranks exchange by All-to-all for the vectors of the tables held in one way.
double exchanged_vectors(const ShardContext& context, Tables way) {
  if (way != Tables::hybrid) {
    const TableGroups held(context.facts, context.plan, way);
    return sum_of_vectors(held.tables) * held.loads.vectors;
  }
  double items = 0;
  for (const LookupTable& table : tables_held(context.facts, context.plan, way)) {
    const double rows = replicated_rows(context, table);
    items += table.columns * (1 - frequency_of(context, table).share_of(rows));
  }
  return items;
}

// A rank looks up the rows of its tables for the samples of all ranks, and sends each rank the vectors of that rank's
// samples: an All-to-all forward, and another for the gradients in backward. With tables by rows, a rank has partial sums of
// all vectors, which a Reduce-scatter adds up; an Allgather brings the gradients of all vectors to every rank [Mudigere et
// al., ISCA 2022, section 4.2]. Categories are assumed to be read by the rank that looks them up, or to be exchanged while
// the previous step computes [TorchRec, TrainPipelineSparseDist].
void add_table_exchanges(const ShardContext& context, LayerShard& shard) {
  const double by_rows =
      sum_of_vectors(tables_held(context.facts, context.plan, Tables::rows)) * context.plan.mesh[Axis::data];
  double sent = 0;
  for (const Tables way : {Tables::whole, Tables::columns, Tables::hybrid}) sent += exchanged_vectors(context, way);
  const auto add = [&](Collective operation, double items, Phase phase) {
    if (items <= 0) return;
    shard.exchanges.push_back(
        {.operation = operation, .items = items, .axes = family_bit(Axis::data), .phase = phase, .purpose = Purpose::layer});
  };
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    add(Collective::all_to_all, sent, phase);
    add(phase == Phase::forward ? Collective::reduce_scatter : Collective::allgather, by_rows, phase);
  }
}

/// Models one kernel that looks up the rows of all tables that a rank holds in one way. Each table gets an equal share of
/// this kernel. `tables`: the number of tables of the rank.
void batch_lookups(const ShardContext& context, double tables, LayerShard& shard) {
  if (!context.assumptions.batched_lookups) return;
  shard.batches *= std::max(1.0, tables);
  shard.held /= std::max(1.0, tables);
}

/// Describes the kernel that looks up and sums the rows of a sample in a table, or in a part of it. Layers that only sum the
/// rows have no kernel. Returns whether the layer looks up rows.
bool pool_rows(const ShardContext& context, const LookupTable& table, std::int64_t rows, std::int64_t columns,
               LayerShard& shard) {
  if (context.layer != table.layer) {
    shard.held = 0;  // the kernel of the lookup also writes the vector
    return false;
  }
  shard.operation = context.at().operation->with_sparse_gradient(rows, columns, true);
  shard.output = {.channels = columns};
  // A layer that sums the rows has the memory of the vector.
  const Layer& next = context.facts.model->layers[static_cast<std::size_t>(table.last)];
  const bool is_summed = table.lookups > 1 && next.operation->type() != "embedding";
  shard.kept_output = is_summed ? shard.inputs.front() : TensorShape{.channels = static_cast<std::int64_t>(table.columns)};
  return true;
}

// One kernel looks up and sums the rows, and gradients have only rows that were looked up, as in TorchRec, HugeCTR and
// NVIDIA's DLRM.
void distribute_table(const ShardContext& context, Tables way, LayerShard& shard) {
  const ModelFacts& facts = context.facts;
  const LookupTable& table = facts.tables[static_cast<std::size_t>(facts.of_table[context.index()])];
  const int ranks = context.plan.mesh[Axis::data];
  const TableGroups held(facts, context.plan, way);
  const auto rows = static_cast<std::int64_t>(table.rows), columns = static_cast<std::int64_t>(table.columns);
  const std::int64_t own_rows = way == Tables::rows ? largest_part(rows, ranks) : rows;
  const std::int64_t own_columns = way == Tables::columns ? largest_part(columns, held.parts) : columns;
  if (!pool_rows(context, table, own_rows, own_columns, shard)) return;
  // With tables by rows, a rank writes partial sums for the samples of all ranks.
  if (way == Tables::rows) shard.output.channels *= ranks;
  // With a hybrid table, a rank looks up as many rows as its own samples have, on average.
  shard.batches = way == Tables::rows || way == Tables::hybrid ? 1 : ranks;
  shard.held = held.loads.rows / held.groups;
  const double lookups = lookups_of(context.plan, table);
  const double touched = frequency_of(context, table).different_rows(lookups);
  if (way == Tables::hybrid) {
    const double everywhere = replicated_rows(context, table);
    shard.weights = (everywhere + (table.rows - everywhere) / ranks) * table.columns;
    shard.touched = (everywhere + std::max(0.0, touched - everywhere) / ranks) * table.columns;
    shard.exchanged = everywhere * table.columns;
  } else {
    shard.weights = table.parameters() * held.loads.parameters / ranks;
    shard.touched = std::min(shard.weights, touched * table.columns * held.loads.rows / ranks);
    shard.replicas &= ~family_bit(Axis::data);
  }
  batch_lookups(context, static_cast<double>(held.tables.size()) * shard.held, shard);
}

// Each rank sends the rows that it looked up, with their numbers of 8 bytes, to all other ranks: an Allgather. In a ring, an
// Allgather of m bytes takes the time of an Allreduce of m/2 bytes [PyTorch, torch/csrc/distributed/c10d, sparse allreduce;
// Horovod, horovod/tensorflow/__init__.py, IndexedSlices].
void make_gradient_sparse(const ShardContext& context, LayerShard& shard) {
  const Layer& layer = context.at();
  const bool is_shared = std::any_of(context.facts.tied.begin(), context.facts.tied.end(),
                                     [&](const TiedLayer& each) { return each.owner == context.layer; });
  if (layer.operation->type() != "embedding" || layer.trained() == 0 || is_shared) return;
  if (shard.weights != static_cast<double>(layer.weights)) return;
  const SharedTable table = layer.operation->shared_table(layer.input_shapes, layer.output_shape);
  const auto rows = static_cast<double>(table.rows), columns = static_cast<double>(table.columns);
  const auto tokens = static_cast<double>(shard.inputs.front().positions());
  const double ranks = context.plan.mesh.product(shard.replicas);
  const double own = shard.samples * static_cast<double>(context.plan.micro_batches) * tokens;
  constexpr double number_bytes = 8;
  const double item = exchanged_bytes(context.plan, context.assumptions, context.facts).gradient;
  shard.operation = layer.operation->with_sparse_gradient(table.rows, table.columns, false);
  const RowFrequency frequency{rows, zipf_exponent(context.facts.tables, context.assumptions.frequent_lookups)};
  shard.touched = frequency.different_rows(own * ranks) * columns;
  shard.exchanged = ranks * frequency.different_rows(own) * (columns + number_bytes / item) / 2;
}

double area_below(double rows, double exponent) {
  constexpr double start = 0.5;  // the sum over rows 1 to n is the area from 1/2 to n + 1/2
  const double power = 1 - exponent;
  if (std::abs(power) < 1e-9) return std::log((rows + start) / start);
  return (std::pow(rows + start, power) - std::pow(start, power)) / power;
}

}  // namespace

double zipf_exponent(const std::vector<LookupTable>& tables, double frequent_lookups) {
  if (frequent_lookups <= 0 || tables.empty()) return 0;
  double rows = 0;
  for (const LookupTable& each : tables) rows = std::max(rows, each.rows);
  constexpr double most_frequent = 0.01;
  double least = 0, most = 8;
  for (int i = 0; i < 60; ++i) {
    const double middle = (least + most) / 2;
    (RowFrequency{rows, middle}.share_of(rows * most_frequent) < frequent_lookups ? least : most) = middle;
  }
  return (least + most) / 2;
}

double RowFrequency::share_of(double most_frequent) const {
  return area_below(std::min(most_frequent, rows), exponent) / area_below(rows, exponent);
}

double RowFrequency::rows_read(double lookups, double times) const {
  if (exponent <= 0) return lookups >= times * rows ? rows : 0;
  return std::min(rows, std::floor(std::pow(lookups / times / area_below(rows, exponent), 1 / exponent)));
}

double RowFrequency::different_rows(double lookups) const {
  if (exponent <= 0) return std::min(lookups, rows);
  const double often = rows_read(lookups, 1);
  return std::min(rows, often + lookups * (1 - share_of(often)));
}

TableLoads place_tables(const std::vector<LookupTable>& tables, int ranks) {
  struct Load {
    double parameters = 0, rows = 0, vectors = 0;
    void add(const Load& other) {
      parameters += other.parameters;
      rows += other.rows;
      vectors += other.vectors;
    }
    [[nodiscard]] double larger() const { return std::max(parameters, rows); }
  };
  std::vector<Load> shares;
  Load all;
  for (const LookupTable& each : tables) {
    shares.push_back({each.parameters(), each.lookups * each.columns, each.columns});
    all.add(shares.back());
  }
  for (Load& each : shares) {
    each.parameters /= all.parameters;
    each.rows /= all.rows;
    each.vectors /= all.vectors;
  }
  std::stable_sort(shares.begin(), shares.end(), [](const Load& a, const Load& b) {
    return std::pair(a.larger(), a.parameters + a.rows) > std::pair(b.larger(), b.parameters + b.rows);
  });
  // Further ranks have no table.
  std::vector<Load> loads(std::min(static_cast<std::size_t>(ranks), shares.size()));
  for (const Load& each : shares) {
    const auto with = [&](Load load) {
      load.add(each);
      return load.larger();
    };
    std::min_element(loads.begin(), loads.end(), [&](const Load& a, const Load& b) { return with(a) < with(b); })->add(each);
  }
  TableLoads most{0, 0, 0};
  for (const Load& each : loads) {
    most.parameters = std::max(most.parameters, each.parameters * ranks);
    most.rows = std::max(most.rows, each.rows * ranks);
    most.vectors = std::max(most.vectors, each.vectors * ranks);
  }
  return most;
}

namespace {

/// Returns whether the mesh allows this way to hold tables. ZeRO and offload are ignored, because costs of layers do not
/// depend on them.
bool may_distribute_on(const std::vector<LookupTable>& tables, const Mesh& mesh, Tables way) {
  if (tables.empty() || mesh.devices() != mesh[Axis::data]) return false;
  // The rows of one sample may be on several ranks, so a hybrid table cannot sum them in one kernel.
  if (way == Tables::hybrid)
    return std::all_of(tables.begin(), tables.end(), [](const LookupTable& each) { return each.lookups == 1; });
  return way != Tables::columns || mesh[Axis::data] == 1 || ranks_of_a_table(tables, way, mesh[Axis::data]) > 1;
}

constexpr auto divided_ways = {Tables::whole, Tables::rows, Tables::columns, Tables::hybrid};

}  // namespace

bool may_distribute_tables(const ModelFacts& facts, const Plan& plan, Tables tables) {
  return may_distribute_on(facts.tables, plan.mesh, tables) && plan.zero_stage == 0 && plan.offload == Offload::none;
}

int ways_to_distribute_tables(const ModelFacts& facts, const Plan& plan) {
  if (facts.tables.empty()) return 0;
  Plan bare;
  bare.mesh = plan.mesh;
  int ways = 0;
  for (const Tables each : {Tables::whole, Tables::columns}) ways += may_distribute_tables(facts, bare, each) ? 1 : 0;
  return ways;
}

bool distributes_tables(const ModelFacts& facts, const Plan& plan) {
  if (!holds_parts_of_tables(plan) || plan.mesh[Axis::data] == 1) return false;
  return std::all_of(divided_ways.begin(), divided_ways.end(), [&](Tables way) {
    const std::vector<LookupTable> tables = tables_held(facts, plan, way);
    return tables.empty() || may_distribute_on(tables, plan.mesh, way);
  });
}

std::string_view tables_words(Tables tables) { return table_words[tables]; }
std::string_view tables_sign(Tables tables) { return table_signs[tables]; }

namespace {

constexpr char segment_sign = 't';

std::string_view sign_in_segment(Tables tables) { return tables == Tables::replicated ? "dp" : tables_sign(tables); }

}  // namespace

std::string table_segments_text(const Plan& plan) {
  std::string text;
  for (const TableSegment& segment : plan.table_segments) {
    if (!text.empty()) text += ' ';
    text += segment_sign + std::to_string(segment.first) + ':' + std::string(sign_in_segment(segment.tables));
  }
  return text;
}

std::optional<TableSegment> parse_table_segment(std::string_view part) {
  const std::size_t colon = part.find(':');
  if (!part.starts_with(segment_sign) || colon == std::string_view::npos) return std::nullopt;
  TableSegment segment;
  const auto [end, problem] = std::from_chars(part.data() + 1, part.data() + colon, segment.first);
  if (problem != std::errc{} || end != part.data() + colon || segment.first < 1) return std::nullopt;
  for (const Tables tables : enum_values<Tables>) {
    segment.tables = tables;
    if (sign_in_segment(tables) == part.substr(colon + 1)) return segment;
  }
  return std::nullopt;
}

void table_limits(const LimitContext& context, Limits& limits) {
  const Plan& plan = context.plan;
  const std::size_t count = context.facts.tables.size();
  if (!plan.table_segments.empty() && count > 0 && plan.table_segments.back().first >= static_cast<int>(count)) {
    return limits.add({.kind = Limit::Kind::segment_first,
                       .wanted = static_cast<double>(plan.table_segments.back().first),
                       .available = static_cast<double>(count),
                       .item = "table"});
  }
  if (!holds_parts_of_tables(plan) || plan.mesh[Axis::data] == 1) return;
  const auto ranks = static_cast<double>(plan.mesh[Axis::data]);
  if (count == 0) return limits.add({Limit::Kind::tables, ranks, 0, -1});
  const bool is_alone = plan.zero_stage == 0 && plan.offload == Offload::none;
  for (const Tables way : divided_ways) {
    const std::vector<LookupTable> tables = tables_held(context.facts, plan, way);
    if (tables.empty() || (is_alone && may_distribute_on(tables, plan.mesh, way))) continue;
    const double least = way == Tables::columns ? least_columns(tables) : ranks;
    limits.add(
        {.kind = Limit::Kind::tables, .wanted = ranks, .available = least, .item = way == Tables::hybrid ? "hybrid" : ""});
    return;
  }
}

void shard_tables(const ShardContext& context, LayerShard& shard) {
  const ModelFacts& facts = context.facts;
  if (!facts.is_of_table(context.index()) || !distributes_tables(facts, context.plan)) {
    if (context.assumptions.sparse_gradients) make_gradient_sparse(context, shard);
    return;
  }
  const Tables way = tables_of(context.plan, static_cast<std::size_t>(facts.of_table[context.index()]));
  if (facts.ends_tables(context.layer)) add_table_exchanges(context, shard);
  if (way != Tables::replicated) return distribute_table(context, way, shard);
  if (context.assumptions.sparse_gradients) make_gradient_sparse(context, shard);
  // One kernel also looks up the replicated tables, whose gradients are dense.
  if (!context.assumptions.batched_lookups) return;
  const LookupTable& table = facts.tables[static_cast<std::size_t>(facts.of_table[context.index()])];
  const auto rows = static_cast<std::int64_t>(table.rows), columns = static_cast<std::int64_t>(table.columns);
  if (pool_rows(context, table, rows, columns, shard))
    batch_lookups(context, static_cast<double>(tables_held(facts, context.plan, way).size()), shard);
}

}  // namespace ddl
