#include "estimator/strategies/embedding_tables.hpp"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "estimator/exchanges/compression.hpp"
#include "estimator/strategies/strategy.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"

namespace {

using namespace ddl;

/// A recommender with two tables of 4 columns: table0 has 100 rows, of which a sample looks up 3, and table1 has 10 rows.
Model small_recommender() {
  return parse_model(R"(format: 1
model: small
input: {features: 3}
layers:
  - fully_connected: 4
    name: dense
  - input: {tokens: 3}
    name: category0
  - embedding: {vocabulary: 100, features: 4}
    name: table0
  - pool: {kind: average, global: yes}
    name: pool0
  - flatten:
    name: vector0
  - input: {tokens: 1}
    name: category1
  - embedding: {vocabulary: 10, features: 4}
    name: table1
  - flatten:
    name: vector1
  - interaction:
    name: pairs
    from: [dense, vector0, vector1]
  - fully_connected: 1
    name: head
  - loss: cross_entropy
)",
                     "small.yaml");
}

/// Eight samples on two ranks.
Plan plan_with(Tables tables, int ranks = 2) {
  Plan plan;
  plan.mesh.set(Axis::data, ranks);
  plan.global_batch = 8;
  plan.tables = tables;
  return plan;
}

LayerShard shard_of(const Model& model, const Plan& plan, const std::string& name, const Assumptions& assumptions = {}) {
  const ModelFacts facts = facts_of(model);
  ShardContext context{facts, plan, assumptions, 0, {}};
  while (model.layers.at(context.index()).name != name) ++context.layer;
  LayerShard shard;
  shard_layer(context, shard);
  return shard;
}

TEST_CASE("tables are the lookups whose rows become one vector of a sample") {
  const Model model = small_recommender();
  const ModelFacts facts = facts_of(model);
  REQUIRE(facts.tables.size() == 2);
  CHECK(model.layers.at(static_cast<std::size_t>(facts.tables.front().last)).name == "vector0");
  CHECK(facts.tables.front().lookups == 3);
  CHECK(facts.tables.back().rows == 10);
  CHECK(facts.table_parameters == 440);
  // 110 rows and the other parameters have one word of row-wise Adagrad each.
  CHECK(facts.rowwise_share == Approx((110 + facts.parameters - 440) / facts.parameters));
  CHECK(facts_of(load_model("dlrm")).tables.size() == 26);
  // The rows of a language model's table are tokens of a sequence.
  CHECK(facts_of(load_model("gpt2")).tables.empty());
}

TEST_CASE("the table with the largest share is placed first, on the rank with the smallest load") {
  const auto table = [](double rows) { return LookupTable{.rows = rows, .columns = 1, .lookups = 1}; };
  const std::vector<LookupTable> tables{table(30), table(100), table(50), table(60)};
  // Shares of parameters are 100, 60, 50 and 30 of 240, and each table has a quarter of the lookups. 100 goes to the first
  // rank, 60 and 50 to the second, which then has half of the lookups, and 30 to the first: 130 of 240 parameters.
  const TableLoads two = place_tables(tables, 2);
  CHECK(two.parameters == Approx(130.0 / 120));
  CHECK(two.rows == Approx(1));
  CHECK(two.vectors == Approx(1));
  // Four of eight ranks have one table each.
  const TableLoads eight = place_tables(tables, 8);
  CHECK(eight.parameters == Approx(100.0 / 30));
  CHECK(eight.rows == Approx(2));
}

TEST_CASE("whole tables: a rank looks up its tables for all ranks, and exchanges vectors") {
  const Model model = small_recommender();
  const Plan plan = plan_with(Tables::whole);
  const LayerShard large = shard_of(model, plan, "table0");
  // The rank with table0 has 400 of 440 parameters, and 12 of the 16 elements that a sample looks up: 3/4 of the work.
  CHECK(large.weights == Approx(400.0 * (400.0 / 220) / 2));
  CHECK(large.held == Approx(0.75));
  CHECK(large.batches == 2);
  // 8 samples look up 24 of 100 rows of 4 columns.
  CHECK(large.updated() == Approx(24 * 4 * 0.75));
  CHECK(large.exchanges.empty());
  CHECK(large.replicas == (replica_axes & ~family_bit(Axis::data)));
  CHECK(shard_of(model, plan, "pool0").held == 0);
  CHECK(shard_of(model, plan, "vector0").exchanges.empty());
  // Each of the two ranks sends one vector of 4 elements for each sample: 8 elements in the whole.
  const LayerShard last = shard_of(model, plan, "vector1");
  REQUIRE(last.exchanges.size() == 2);
  for (const Exchange& exchange : last.exchanges) {
    CHECK(exchange.operation == Collective::all_to_all);
    CHECK(exchange.items == Approx(8));
    CHECK(exchange.axes == family_bit(Axis::data));
  }
  CHECK(last.exchanges.front().phase == Phase::forward);
  CHECK(last.exchanges.back().phase == Phase::backward);
  // The towers stay data parallel: 4 weights and a bias.
  const LayerShard head = shard_of(model, plan, "dense");
  REQUIRE(head.exchanges.size() == 1);
  CHECK(head.exchanges.front().operation == Collective::allreduce);
}

TEST_CASE("tables by rows exchange partial sums, and tables by columns exchange parts of vectors") {
  const Model model = small_recommender();
  const LayerShard rows = shard_of(model, plan_with(Tables::rows), "vector1");
  REQUIRE(rows.exchanges.size() == 2);
  CHECK(rows.exchanges.front().operation == Collective::reduce_scatter);
  CHECK(rows.exchanges.front().items == Approx(16));
  CHECK(rows.exchanges.back().operation == Collective::allgather);
  CHECK(shard_of(model, plan_with(Tables::rows), "table0").weights == Approx(200));
  const LayerShard columns = shard_of(model, plan_with(Tables::columns), "table0");
  CHECK(columns.weights == Approx(200));
  CHECK(columns.held == 1);
  CHECK(columns.output.channels == 2);
  CHECK(shard_of(model, plan_with(Tables::columns), "vector1").exchanges.front().items == Approx(8));
}

TEST_CASE("with more ranks than columns, groups of ranks hold whole tables, and their ranks hold columns") {
  const Model model = small_recommender();
  // Two groups of four ranks. The fuller one has table0: 400 of 440 parameters, and 12 of 16 elements of looked up rows.
  const LayerShard shard = shard_of(model, plan_with(Tables::columns, 8), "table0");
  CHECK(shard.output.channels == 1);
  CHECK(shard.held == Approx(0.75));
  CHECK(shard.weights == Approx(400.0 * (400.0 / 220) / 8));
  CHECK(shard.batches == 8);
  // Both groups have one of the two vectors of 4 elements.
  CHECK(shard_of(model, plan_with(Tables::columns, 8), "vector1").exchanges.front().items == Approx(8));
}

TEST_CASE("tables are held in several ways, and those in parts alone are exchanged") {
  const Model model = small_recommender();
  Plan plan = plan_with(Tables::columns);
  plan.table_segments = {{1, Tables::replicated}};
  // The columns of table0 are divided, and table1 is replicated: its vector has no exchange of its own.
  CHECK(shard_of(model, plan, "table0").weights == Approx(200));
  const LayerShard replicated = shard_of(model, plan, "table1");
  CHECK(replicated.weights == 40);
  REQUIRE(replicated.exchanges.size() == 1);
  CHECK(replicated.exchanges.front().operation == Collective::allreduce);
  const LayerShard last = shard_of(model, plan, "vector1");
  REQUIRE(last.exchanges.size() == 2);
  CHECK(last.exchanges.front().operation == Collective::all_to_all);
  CHECK(last.exchanges.front().items == Approx(4));
  // By rows and by columns: both exchanges, forward and backward.
  plan.table_segments = {{1, Tables::rows}};
  CHECK(shard_of(model, plan, "vector1").exchanges.size() == 4);
  // Segments of one way are no segments.
  plan.table_segments = {{1, Tables::columns}};
  join_table_segments(plan);
  CHECK(plan == plan_with(Tables::columns));
  CHECK(table_segments_text(plan).empty());
  plan.table_segments = {{1, Tables::replicated}, {3, Tables::hybrid}};
  CHECK(table_segments_text(plan) == "t1:dp t3:hy");
  CHECK(parse_table_segment("t3:hy") == TableSegment{3, Tables::hybrid});
  CHECK_FALSE(parse_table_segment("t0:hy"));
  CHECK_FALSE(parse_table_segment("t3:tp"));
}

TEST_CASE("hybrid tables replicate the rows that every rank looks up in a step, and exchange the others") {
  const Model model = small_recommender();
  Plan plan = plan_with(Tables::replicated);
  plan.table_segments = {{1, Tables::hybrid}};
  // 8 lookups of 10 equally frequent rows: no row is looked up twice, once for each of two ranks.
  const LayerShard rare = shard_of(model, plan, "table1");
  CHECK(rare.weights == Approx(10 / 2 * 4));
  CHECK(rare.updated() == Approx(8 / 2 * 4));
  CHECK(rare.exchanged == 0);
  CHECK(rare.batches == 1);
  CHECK(shard_of(model, plan, "vector1").exchanges.front().items == Approx(4));
  // 32 lookups: each row is looked up more than twice.
  plan.global_batch = 32;
  const LayerShard frequent = shard_of(model, plan, "table1");
  CHECK(frequent.weights == 40);
  CHECK(frequent.exchanged == 40);
  CHECK(shard_of(model, plan, "vector1").exchanges.empty());
  // A sample looks up three rows of table0.
  const ModelFacts facts = facts_of(model);
  CHECK(limits_of({facts, plan, {}}).empty());
  plan.tables = Tables::hybrid;
  CHECK(limits_of({facts, plan, {}}).begin()->item == "hybrid");
}

TEST_CASE("rows are as frequent as the share of the most frequent hundredth says") {
  const std::vector<LookupTable> tables{{.rows = 4e7, .columns = 1, .lookups = 1}};
  const RowFrequency large{4e7, zipf_exponent(tables, 0.92)};
  CHECK(large.share_of(4e5) == Approx(0.92).epsilon(1e-6));
  CHECK(zipf_exponent(tables, 0) == 0);
  // The sums over all rows of 1/i^1.1: 1,000 rows are read, of which the first 100 by 0.786 of the lookups.
  const RowFrequency small{1000, 1.1};
  double all = 0, first = 0, different = 0;
  for (int row = 1; row <= 1000; ++row) {
    all += std::pow(row, -1.1);
    if (row == 100) first = all;
  }
  CHECK(small.share_of(100) == Approx(first / all).epsilon(0.02));
  // The expected number of different rows is not above the estimate, and at most a quarter below it.
  for (const double lookups : {200.0, 5000.0}) {
    different = 0;
    for (int row = 1; row <= 1000; ++row) different += 1 - std::pow(1 - std::pow(row, -1.1) / all, lookups);
    CHECK(small.different_rows(lookups) > different);
    CHECK(small.different_rows(lookups) < different / 0.75);
  }
  // Equally frequent rows: each lookup reads another row, until all are read.
  CHECK(RowFrequency{1000, 0}.different_rows(200) == 200);
  CHECK(RowFrequency{1000, 0}.different_rows(5000) == 1000);
}

TEST_CASE("exchanges of tables are hidden behind the layers that read no table") {
  Machine machine;
  machine.name = "node";
  machine.device.peak[Precision::fp32] = FlopRate(15e12);
  machine.device.memory = Bytes(80e9);
  machine.device.memory_bandwidth = Bandwidth(900e9);
  // 1 GB/s: the exchange takes longer than the kernels; 1,000 GB/s: it takes less time.
  for (const double bandwidth : {1e9, 1000e9}) {
    machine.levels = {{"node", 8, Seconds(1e-6), Bandwidth(bandwidth), 1}};
    Assumptions assumptions;
    const OwnedJob exposed(load_model("dlrm"), machine, assumptions, 1e6);
    assumptions.overlaps_table_exchanges = true;
    const OwnedJob hidden(load_model("dlrm"), machine, assumptions, 1e6);
    Plan plan = plan_with(Tables::columns, 8);
    plan.global_batch = 65536;
    const Estimator without(exposed.job), with(hidden.job);
    const LayerCostTable& costs = without.tables().costs(plan);
    Seconds forward{}, backward{};  // of the perceptron before the interaction, which reads the features
    for (const int layer : exposed.facts.matrix) {
      if (layer >= exposed.facts.tables.front().layer) break;
      for (int each = layer; each < layer + 2; ++each) {  // with its activation
        forward += costs.at(each)[LayerTime::forward];
        backward += costs.at(each)[LayerTime::backward];
      }
    }
    const LayerCosts &before = costs.total(), &after = with.tables().costs(plan).total();
    REQUIRE(forward > Seconds{});
    CHECK((before[LayerTime::exchange_forward] - after[LayerTime::exchange_forward]).value() ==
          Approx(min(forward, before[LayerTime::exchange_forward]).value()));
    CHECK((before[LayerTime::exchange_backward] - after[LayerTime::exchange_backward]).value() ==
          Approx(min(backward, before[LayerTime::exchange_backward]).value()));
  }
}

TEST_CASE("one kernel looks up all tables of a way") {
  Assumptions assumptions;
  assumptions.batched_lookups = true;
  const LayerShard table = shard_of(small_recommender(), plan_with(Tables::columns), "table0", assumptions);
  // The samples of two ranks, in two tables: half of a kernel of four times the samples.
  CHECK(table.batches == 4);
  CHECK(table.held == Approx(0.5));
  // The fuller of two groups has 3/4 of the looked up elements, in 1.5 of the two tables on average: the kernels of both
  // tables are one kernel. The groups are ranks that hold whole tables, or four ranks that divide columns.
  for (const Plan& plan : {plan_with(Tables::whole), plan_with(Tables::columns, 8)}) {
    const LayerShard alone = shard_of(small_recommender(), plan, "table0");
    REQUIRE(alone.held == Approx(0.75));
    for (const char* const name : {"table0", "table1"}) {
      const LayerShard grouped = shard_of(small_recommender(), plan, name, assumptions);
      CHECK(grouped.held == Approx(0.5));
      CHECK(grouped.batches == Approx(1.5 * plan.mesh[Axis::data]));
    }
  }
  // A rank has no more than one table.
  CHECK(shard_of(load_model("dlrm"), plan_with(Tables::whole, 26), "table0.embedding1", assumptions).batches == Approx(26));
  // A replicated table has a kernel of another way, which also sums its rows, and all its gradients are summed.
  Plan plan = plan_with(Tables::columns);
  plan.table_segments = {{1, Tables::replicated}};
  const LayerShard replicated = shard_of(small_recommender(), plan, "table1", assumptions);
  CHECK(replicated.batches == 1);
  CHECK(replicated.held == 1);
  CHECK(replicated.updated() == 40);
  CHECK(shard_of(small_recommender(), plan, "vector1", assumptions).held == 0);
  CHECK(shard_of(small_recommender(), plan, "vector1", assumptions).exchanges.size() == 2);
}

TEST_CASE("more ranks than columns do not make a rank send more vectors of a sample") {
  const Model model = load_model("dlrm");
  // The model has 26 tables of 128 columns. Each of 64 ranks sends 1/64 of all vectors; whole tables are on 26 ranks alone.
  // Of eight groups of 128 ranks, one has 5 tables, and the mean is 3.25.
  const auto items = [&](Tables tables, int ranks) {
    Plan plan = plan_with(tables, ranks);
    plan.global_batch = 65536;
    return shard_of(model, plan, model.layers.at(static_cast<std::size_t>(facts_of(model).tables.back().last)).name)
        .exchanges.front()
        .items;
  };
  const double balanced = items(Tables::columns, 64);
  for (const int ranks : {128, 192, 256, 384, 512, 1024}) {
    CAPTURE(ranks);
    CHECK(items(Tables::columns, ranks) < 1.6 * balanced);
    CHECK(items(Tables::columns, ranks) < items(Tables::whole, ranks) / 2);
  }
}

TEST_CASE("tables are distributed by plans of data alone, without ZeRO, and with a column for each rank of a group") {
  const ModelFacts facts = facts_of(small_recommender());
  const auto is_possible = [&](const Plan& plan) { return limits_of({facts, plan, {}}).empty(); };
  CHECK(is_possible(plan_with(Tables::columns, 4)));
  CHECK(is_possible(plan_with(Tables::columns, 8)));
  CHECK_FALSE(is_possible(plan_with(Tables::columns, 7)));
  CHECK(is_possible(plan_with(Tables::whole, 8)));
  Plan sharded = plan_with(Tables::whole);
  sharded.zero_stage = 1;
  CHECK(limits_of({facts, sharded, {}}).begin()->kind == Limit::Kind::tables);
  Plan hybrid = plan_with(Tables::rows);
  hybrid.mesh.set(Axis::filter, 2);
  CHECK_FALSE(is_possible(hybrid));
  // The tables are t0 and t1.
  Plan segments = plan_with(Tables::whole);
  segments.table_segments = {{1, Tables::rows}};
  CHECK(is_possible(segments));
  for (const int ranks : {1, 2}) {
    segments = plan_with(Tables::whole, ranks);
    segments.table_segments = {{1, Tables::rows}, {2, Tables::replicated}};
    const Limits limits = limits_of({facts, segments, {}});
    REQUIRE(limits.size() == 1);
    CHECK(limits.begin()->kind == Limit::Kind::segment_first);
    CHECK(limits.begin()->wanted == 2);
    CHECK(limits.begin()->available == 2);
  }
  const ModelFacts other = facts_of(load_model("gpt2"));
  CHECK(limits_of({other, plan_with(Tables::whole), {}}).begin()->available == 0);
}

TEST_CASE("sparse gradients have the rows of a step, and are gathered") {
  Assumptions assumptions;
  assumptions.sparse_gradients = true;
  const LayerShard table = shard_of(small_recommender(), plan_with(Tables::replicated), "table0", assumptions);
  CHECK(table.weights == 400);
  CHECK(table.updated() == 24 * 4);
  // Each of two ranks gathers 12 rows of 4 elements with a number of 8 bytes: an Allreduce of half of 2 · 12 · 6 elements.
  REQUIRE(table.exchanges.size() == 1);
  CHECK(table.exchanges.front().items == Approx(2 * 12 * 6 / 2.0));
  // A number has 8 bytes, whatever the precision: as much as 2 elements that are summed in 4 bytes, and as 4 of 2 bytes.
  Plan half = plan_with(Tables::replicated);
  half.precision = Precision::bf16;
  for (const auto& [mixed, items] : {std::pair(MixedPrecision::full_gradients, 2), {MixedPrecision::half_gradients, 4}}) {
    assumptions.mixed_precision = mixed;
    CHECK(shard_of(small_recommender(), half, "table0", assumptions).exchanges.front().items ==
          Approx(2 * 12 * (4 + items) / 2.0));
  }
  // The table of GPT-2 is also its head, whose gradient is dense.
  const Model tied = load_model("gpt2");
  Plan plan = plan_with(Tables::replicated);
  CHECK_FALSE(shard_of(tied, plan, tied.layers.front().name, assumptions).touched);
}

TEST_CASE("compressed gradients have the bytes of their codes") {
  Assumptions assumptions;
  const auto cost = [&](Compression compression, double stored = 4) {
    assumptions.compression = compression;
    return compressed_gradient(assumptions, 0.01, stored, 8);
  };
  CHECK(cost(Compression::none).sent == 4);
  CHECK(cost(Compression::none).coded == 0);
  // Kernels read 4 and write 2 bytes, and later read 2 and write 4.
  CHECK(cost(Compression::fp16).coded == 12);
  CHECK(cost(Compression::bf16, 2).coded == 0);
  CHECK(cost(Compression::int8).sent == Approx(1 + 4.0 / 2048));
  CHECK(cost(Compression::int4).way == GradientWay::two_phases);
  CHECK(cost(Compression::one_bit).sent == Approx(0.125 + 4.0 / 2048));
  // An error for each gradient, and for each of the eighth of the sums that a rank encodes [DeepSpeed,
  // deepspeed/runtime/fp16/onebit/adam.py, worker_error and server_error].
  CHECK(cost(Compression::one_bit).residual == 4 * (1 + 1.0 / 8));
  // 0.1 % of the gradients, with a value and a number of 4 bytes each.
  CHECK(cost(Compression::top_k).sent == Approx(0.008));
  CHECK(cost(Compression::top_k).way == GradientWay::allgather);
  // A matrix has 0.01 rows and columns for each parameter: factors of rank 4 have 0.04 words.
  CHECK(cost(Compression::power_sgd).sent == Approx(0.16));
  // Factors and residual have the precision of the gradient [PyTorch, powerSGD_hook.py].
  CHECK(cost(Compression::power_sgd, 2).sent == Approx(0.08));
  CHECK(cost(Compression::power_sgd, 2).residual == 2);
  // Factors of rank 49 have 0.98 of half of the words of the gradients, factors of rank 50 have half, and are not used
  // [PyTorch, powerSGD_hook.py, min_compression_rate is 2]. The residual is kept all the same.
  assumptions.compression_rank = 49;
  CHECK(cost(Compression::power_sgd).sent == Approx(1.96));
  assumptions.compression_rank = 50;
  CHECK(cost(Compression::power_sgd).sent == 4);
  CHECK(cost(Compression::power_sgd).flops == 0);
  CHECK(cost(Compression::power_sgd).residual == 4);
}

TEST_CASE("local steps need replicas, or shard groups") {
  Assumptions assumptions;
  assumptions.local_steps = 100;
  Plan plan = plan_with(Tables::replicated, 8);
  CHECK(has_local_steps(plan, assumptions));
  // Outer weights and momentum have 4 bytes each.
  CHECK(exchange_state_bytes(plan, assumptions, 4) == 8);
  plan.zero_stage = 3;
  CHECK_FALSE(has_local_steps(plan, assumptions));
  const ModelFacts facts = facts_of(small_recommender());
  const Software software;
  CHECK(limits_of({facts, plan, software, &assumptions}).begin()->kind == Limit::Kind::local_steps);
  plan.shard_group = 4;
  CHECK(has_local_steps(plan, assumptions));
  CHECK(limits_of({facts, plan, software, &assumptions}).empty());
}

}  // namespace
