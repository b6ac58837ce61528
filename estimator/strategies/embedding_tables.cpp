#include "estimator/strategies/embedding_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "estimator/exchanges/gradient_exchange.hpp"

namespace ddl {
namespace {

constexpr EnumNames<Tables> table_signs{"", "tw", "rw", "cw"};
constexpr EnumNames<Tables> table_words{"", "whole tables", "tables by rows", "tables by columns"};

double sum_of_vectors(const std::vector<LookupTable>& tables) {
  return std::accumulate(tables.begin(), tables.end(), 0.0,
                         [](double sum, const LookupTable& each) { return sum + each.columns; });
}

int least_columns(const ModelFacts& facts) {
  const auto least = std::min_element(facts.tables.begin(), facts.tables.end(),
                                      [](const LookupTable& a, const LookupTable& b) { return a.columns < b.columns; });
  return least == facts.tables.end() ? 0 : static_cast<int>(least->columns);
}

/// Returns the number of ranks that hold parts of one table. With more ranks than columns, equal groups of ranks hold whole
/// tables each, and the ranks of a group hold columns of them [TorchRec, ShardingType.COLUMN_WISE: shards of a table are
/// placed on some of the ranks].
int ranks_of_a_table(const ModelFacts& facts, Tables tables, int ranks) {
  if (tables == Tables::rows) return ranks;
  if (tables != Tables::columns) return 1;
  int most = std::min(ranks, least_columns(facts));
  while (most > 1 && ranks % most != 0) --most;
  return most;
}

// A rank looks up the rows of its tables for the samples of all ranks, and sends each rank the vectors of that rank's
// samples: an All-to-all forward, and another for the gradients in backward. With tables by rows, a rank has partial sums of
// all vectors, which a Reduce-scatter adds up; an Allgather brings the gradients of all vectors to every rank [Mudigere et
// al., ISCA 2022, section 4.2]. Categories are assumed to be read by the rank that looks them up, or to be exchanged while
// the previous step computes [TorchRec, TrainPipelineSparseDist].
void add_table_exchanges(const ShardContext& context, double vectors, LayerShard& shard) {
  const bool by_rows = context.plan.tables == Tables::rows;
  const double ranks = context.plan.mesh[Axis::data];
  const double items = sum_of_vectors(context.facts.tables) * (by_rows ? ranks : vectors);
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    const Collective gathers = phase == Phase::forward ? Collective::reduce_scatter : Collective::allgather;
    shard.exchanges.push_back({.operation = by_rows ? gathers : Collective::all_to_all,
                               .items = items,
                               .axes = family_bit(Axis::data),
                               .phase = phase,
                               .purpose = Purpose::layer});
  }
}

// One kernel looks up and sums the rows, and gradients have only rows that were looked up, as in TorchRec, HugeCTR and
// NVIDIA's DLRM.
void distribute_table(const ShardContext& context, LayerShard& shard) {
  const ModelFacts& facts = context.facts;
  const LookupTable& table = facts.tables[static_cast<std::size_t>(facts.of_table[context.index()])];
  const int ranks = context.plan.mesh[Axis::data];
  const Tables way = context.plan.tables;
  const int parts = ranks_of_a_table(facts, way, ranks);
  const int groups = ranks / parts;
  const TableLoads loads = groups > 1 ? place_tables(facts.tables, groups) : TableLoads();
  if (facts.ends_tables(context.layer)) add_table_exchanges(context, loads.vectors, shard);
  if (context.layer != table.layer) {
    shard.held = 0;  // the kernel of the lookup also writes the vector
    return;
  }
  const auto rows = static_cast<std::int64_t>(table.rows), columns = static_cast<std::int64_t>(table.columns);
  const std::int64_t own_rows = way == Tables::rows ? largest_part(rows, ranks) : rows;
  const std::int64_t own_columns = way == Tables::columns ? largest_part(columns, parts) : columns;
  shard.operation = context.at().operation->with_sparse_gradient(own_rows, own_columns, true);
  // With tables by rows, a rank writes partial sums for the samples of all ranks.
  shard.output = {.channels = own_columns * (way == Tables::rows ? ranks : 1)};
  // A layer that sums the rows has the memory of the vector.
  const Layer& next = facts.model->layers[static_cast<std::size_t>(table.last)];
  const bool is_summed = table.lookups > 1 && next.operation->type() != "embedding";
  shard.kept_output = is_summed ? shard.inputs.front() : TensorShape{.channels = columns};
  shard.batches = way == Tables::rows ? 1 : ranks;
  shard.held = loads.rows / groups;
  shard.weights = table.parameters() * loads.parameters / ranks;
  const double lookups = static_cast<double>(context.plan.global_batch) * table.lookups;
  shard.touched = std::min(shard.weights, std::min(lookups, table.rows) * table.columns * loads.rows / ranks);
  shard.replicas &= ~family_bit(Axis::data);
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
  shard.touched = std::min(own * ranks, rows) * columns;
  shard.exchanged = ranks * std::min(own, rows) * (columns + number_bytes / item) / 2;
}

}  // namespace

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

/// Returns whether the mesh allows it. Costs of layers depend on the mesh, and not on ZeRO and offload.
bool may_distribute_on(const ModelFacts& facts, const Mesh& mesh, Tables tables) {
  if (facts.tables.empty() || mesh.devices() != mesh[Axis::data]) return false;
  return tables != Tables::columns || mesh[Axis::data] == 1 || ranks_of_a_table(facts, tables, mesh[Axis::data]) > 1;
}

}  // namespace

bool may_distribute_tables(const ModelFacts& facts, const Plan& plan, Tables tables) {
  return may_distribute_on(facts, plan.mesh, tables) && plan.zero_stage == 0 && plan.offload == Offload::none;
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
  return plan.tables != Tables::replicated && plan.mesh[Axis::data] > 1 && may_distribute_on(facts, plan.mesh, plan.tables);
}

std::string_view tables_words(Tables tables) { return table_words[tables]; }
std::string_view tables_sign(Tables tables) { return table_signs[tables]; }

void table_limits(const LimitContext& context, Limits& limits) {
  const Plan& plan = context.plan;
  if (plan.tables == Tables::replicated || plan.mesh[Axis::data] == 1) return;
  if (may_distribute_tables(context.facts, plan, plan.tables)) return;
  const double least = least_columns(context.facts);
  limits.add({Limit::Kind::tables, static_cast<double>(plan.mesh[Axis::data]), least, -1});
}

void shard_tables(const ShardContext& context, LayerShard& shard) {
  if (context.facts.is_of_table(context.index()) && distributes_tables(context.facts, context.plan)) {
    distribute_table(context, shard);
  } else if (context.assumptions.sparse_gradients) {
    make_gradient_sparse(context, shard);
  }
}

}  // namespace ddl
