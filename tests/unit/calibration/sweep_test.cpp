#include "calibration/network/sweep/sweep.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "calibration/network/benchmarks/benchmark_formats.hpp"
#include "calibration/network/fits/fit.hpp"
#include "calibration/network/sweep/agreement.hpp"
#include "calibration/network/sweep/osu_print.hpp"
#include "calibration/network/sweep/processor_wait.hpp"
#include "calibration/network/sweep/transports.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace ddl::sweep_tests {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::unique_ptr<Transport> network(const std::string& figures) { return open_simulated_network(figures, "test"); }

SweepPlan plan_of(std::vector<SweepOperation> operations) {
  return {.operations = std::move(operations), .contention = false, .overlap = false};
}
SweepPlan whole_plan() {
  SweepPlan plan;
  for (const SweepOperationKind& kind : sweep_operations()) plan.operations.push_back(kind.operation);
  return plan;
}

SweepResult run(const std::string& figures, const SweepPlan& plan) {
  const std::unique_ptr<Transport> transport = network(figures);
  return run_sweep(*transport, plan, {});
}

/// Returns α and β of the only range of the only fit.
FitRange range_of(const SweepResult& result, NetworkLevel level) {
  std::vector<ExchangeSeries> series = series_of(result.tables, "test");
  std::erase_if(series, [&](const ExchangeSeries& one) { return one.level != level; });
  const std::vector<ExchangeFit> fits = fit_exchanges(series);
  REQUIRE(fits.size() == 1);
  REQUIRE(fits[0].refusal.empty());
  return fits[0].ranges.back();
}

}  // namespace

TEST_CASE("A sweep of a simulated network recovers its latency and bandwidth") {
  const std::string figures =
      "ranks=8 nodes=2 latency=20 us bandwidth=10 GB/s latency_inside=2 us bandwidth_inside=80 GB/s noise=0.01 seed=3";
  SECTION("from messages between two ranks") {
    const SweepResult result = run(figures, plan_of({SweepOperation::latency}));
    const FitRange between = range_of(result, NetworkLevel::between_nodes);
    CHECK(between.alpha->value.value() == Approx(20e-6).epsilon(0.02));
    CHECK(between.beta->value.value() == Approx(1 / 10e9).epsilon(0.02));
    const FitRange inside = range_of(result, NetworkLevel::node);
    CHECK(inside.alpha->value.value() == Approx(2e-6).epsilon(0.02));
    CHECK(inside.beta->value.value() == Approx(1 / 80e9).epsilon(0.02));
  }
  SECTION("from windows of messages, which hide the latency") {
    for (const SweepOperation operation : {SweepOperation::bandwidth, SweepOperation::two_way_bandwidth}) {
      const FitRange between = range_of(run(figures, plan_of({operation})), NetworkLevel::between_nodes);
      CHECK_FALSE(between.alpha);
      CHECK(between.beta->value.value() == Approx(1 / 10e9).epsilon(0.02));
    }
  }
  SECTION("from rings of one rank per node and of all ranks, on the rails of each") {
    const FitRange between =
        range_of(run("ranks=16 nodes=2 rails=8 latency=14 us bandwidth=25 GB/s bandwidth_inside=450 GB/s",
                     plan_of({SweepOperation::allgather})),
                 NetworkLevel::between_nodes);
    CHECK(between.algorithm == ExchangeAlgorithm::striped_ring);
    CHECK(between.alpha->value.value() == Approx(14e-6).epsilon(0.02));
    CHECK(between.beta->value.value() == Approx(1 / 25e9).epsilon(0.02));
  }
  SECTION("from an allreduce of several numbers of ranks, whose algorithm is found out") {
    const FitRange inside = range_of(run("ranks=16 nodes=1 latency_inside=4 us bandwidth_inside=20 GB/s noise=0.01",
                                         plan_of({SweepOperation::allreduce})),
                                     NetworkLevel::node);
    CHECK(inside.algorithm == ExchangeAlgorithm::ring);
    CHECK(inside.alpha->value.value() == Approx(4e-6).epsilon(0.03));
    CHECK(inside.beta->value.value() == Approx(1 / 20e9).epsilon(0.03));
  }
}

TEST_CASE("A sweep warns if repeated times scatter too much") {
  const auto warnings_of = [](const std::string& noise) {
    const SweepResult result = run("ranks=2 nodes=2 latency=5 ms noise=" + noise, plan_of({SweepOperation::latency}));
    std::string warnings;
    for (const std::string& warning : result.warnings) warnings += warning;
    return warnings;
  };
  CHECK(warnings_of("0.02").empty());
  // The limit of 0.1 s leaves 20 samples, whose median has an interval of 1.2533 · 1.96 / √20 = 55 % of their spread.
  const std::string busy = warnings_of("1");
  CHECK(busy.find("latency of 2 ranks on 2 nodes: ") == 0);
  CHECK(busy.find(" of 21 sizes have an uncertainty of 10 % or more") != std::string::npos);
}

TEST_CASE("The output of a sweep in OSU's format reads back as its measurements") {
  const SweepResult result = run("ranks=6 nodes=2 noise=0.05", whole_plan());
  const std::vector<ExchangeSeries> measured = series_of(result.tables, "sweep.txt");
  std::vector<std::string> warnings;
  const std::vector<ExchangeSeries> read = parse_exchanges(print_osu(result.tables, "MPI"), "sweep.txt", {}, warnings);
  CHECK(warnings.empty());
  REQUIRE(read.size() == measured.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    const ExchangeSeries &a = measured[i], &b = read[i];
    CAPTURE(i);
    CHECK(a.operation == b.operation);
    CHECK(a.pattern == b.pattern);
    CHECK(a.window == b.window);
    CHECK(a.ranks == b.ranks);
    CHECK(a.nodes == b.nodes);
    CHECK(a.level == b.level);
    CHECK(a.tool == b.tool);
    REQUIRE(a.rows.size() == b.rows.size());
    for (std::size_t row = 0; row < a.rows.size(); ++row) {
      CHECK(a.rows[row].message == b.rows[row].message);
      // Times are printed with seven digits.
      CHECK(a.rows[row].time.value() == Approx(b.rows[row].time.value()).epsilon(1e-6));
      CHECK(a.rows[row].spread.has_value() == b.rows[row].spread.has_value());
    }
  }
}

TEST_CASE("Concurrent groups share the rails of a node, and the time per byte gives φ") {
  SweepPlan plan = plan_of({});
  plan.contention = true;
  // On each node, eight ranks form one, two, four or eight groups, which share two rails.
  const std::vector<ContentionPoint> points = run("ranks=16 nodes=2 rails=2 noise=0", plan).contention;
  REQUIRE(points.size() == 4);
  const std::vector<std::pair<int, double>> expected{{1, 1}, {2, 1}, {4, 2}, {8, 4}};
  for (std::size_t i = 0; i < points.size(); ++i) {
    CHECK(points[i].groups == expected[i].first);
    CHECK(points[i].slowdown == Approx(expected[i].second).epsilon(1e-9));
    CHECK(points[i].interval.low <= Approx(points[i].slowdown));
    CHECK(points[i].interval.high >= Approx(points[i].slowdown));
  }
  CHECK(run("ranks=8 nodes=1", plan).contention.empty());
  CHECK(run("ranks=4 nodes=4", plan).contention.empty());
}

TEST_CASE("A ring with several ranks per node uses the rails of all ranks of the node") {
  // A ring over 2 nodes of 8 ranks sends 30 messages. Each message takes α plus the time of a sixteenth of 256 MiB at the
  // rate of 8 rails, 2 rails or one rail.
  const auto last = [](const std::string& figures, SweepOperation operation) {
    SweepPlan plan = plan_of({operation});
    plan.smallest = plan.largest = std::int64_t{1} << 28U;
    const SweepResult result = run("ranks=16 nodes=2 latency=10 us bandwidth=25 GB/s noise=0 " + figures, plan);
    REQUIRE(result.tables.back().ranks == 16);
    return result.tables.back().rows.back().timing.time().value();
  };
  const double bytes = static_cast<double>(std::int64_t{1} << 28U);
  const auto ring = [&](double rate) { return 30 * (10e-6 + bytes / 16 / rate); };
  CHECK(last("rails=8 bandwidth_inside=450 GB/s", SweepOperation::allreduce) == Approx(ring(200e9)));
  CHECK(last("rails=2 bandwidth_inside=450 GB/s", SweepOperation::allreduce) == Approx(ring(50e9)));
  CHECK(last("rails=1 bandwidth_inside=450 GB/s", SweepOperation::allreduce) == Approx(ring(25e9)));
  // No ring is faster than the links inside its nodes.
  CHECK(last("rails=8 bandwidth_inside=100 GB/s", SweepOperation::allreduce) == Approx(ring(100e9)));
  // In an all-to-all, each rank has a rail, or a share of a rail.
  const auto pairs = [&](double rate) { return 15 * (10e-6 + bytes / 16 / rate); };
  CHECK(last("rails=8", SweepOperation::all_to_all) == Approx(pairs(25e9)));
  CHECK(last("rails=2", SweepOperation::all_to_all) == Approx(pairs(25e9 / 4)));
}

TEST_CASE("Protocols of a simulated network are recovered, and their sizes grow with the nodes") {
  // Each protocol has fractions of 14 us and 46 GB/s as α and rate, and a size at which the next protocol begins.
  const std::string protocols =
      " protocols=LL:0.3:0.25:64 KiB/LL128:0.5:0.9:4 MiB/Simple:1:1 rails=8 latency=14 us "
      "bandwidth=46 GB/s latency_inside=4 us bandwidth_inside=400 GB/s";
  const auto ranges = [&](const std::string& figures) {
    SweepPlan plan = plan_of({SweepOperation::allreduce});
    plan.largest = std::int64_t{1} << 28U;
    std::vector<ExchangeSeries> series = series_of(run(figures + protocols, plan).tables, "test");
    std::erase_if(series, [](const ExchangeSeries& one) { return one.nodes == 1; });
    const std::vector<ExchangeFit> fits = fit_exchanges(series);
    REQUIRE(fits.size() == 1);
    REQUIRE(fits[0].ranges.size() >= 3);
    return fits[0].ranges;
  };
  for (const auto& [figures, growth] :
       {std::pair("ranks=16 nodes=2", 1.0), std::pair("ranks=64 nodes=8 protocol_growth=0", 1.0)}) {
    INFO(figures);
    const std::vector<FitRange> found = ranges(figures);
    CHECK(found[0].max_message == 64_KiB * growth);
    CHECK(found[1].max_message == 4_MiB * growth);
    const std::vector<std::pair<double, double>> truth{{0.3, 0.25}, {0.5, 0.9}, {1, 1}};
    for (std::size_t i = 0; i < truth.size(); ++i) {
      INFO("protocol " << i);
      CHECK(found[i].alpha->value.value() == Approx(14e-6 * truth[i].first).epsilon(0.05));
      CHECK(found[i].beta->value.value() == Approx(1 / (46e9 * truth[i].second)).epsilon(0.03));
    }
  }
  // The first protocol reaches four times the size only between eight nodes.
  const auto time = [&](const std::string& figures, std::int64_t bytes) {
    SweepPlan plan = plan_of({SweepOperation::allreduce});
    plan.smallest = plan.largest = bytes;
    return run(figures + protocols + " noise=0", plan).tables.back().rows.back().timing.time().value();
  };
  const auto ring = [&](double ranks, double bytes, double alpha, double share) {
    return 2 * (ranks - 1) * (14e-6 * alpha + bytes / ranks / (8 * 46e9 * share));
  };
  CHECK(time("ranks=64 nodes=8", 262144) == Approx(ring(64, 262144, 0.3, 0.25)));
  CHECK(time("ranks=64 nodes=8", 524288) == Approx(ring(64, 524288, 0.5, 0.9)));
  CHECK(time("ranks=16 nodes=2", 131072) == Approx(ring(16, 131072, 0.5, 0.9)));
}

TEST_CASE("Rendezvous messages of a simulated network take three start-ups") {
  const SweepResult result =
      run("ranks=2 nodes=2 latency=20 us bandwidth=10 GB/s rendezvous=64 KiB noise=0", plan_of({SweepOperation::latency}));
  for (const SweepRow& row : result.tables[0].rows) {
    const double startups = row.bytes < 65536 ? 1 : 3;
    CHECK(row.timing.time().value() == Approx(startups * 20e-6 + static_cast<double>(row.bytes) / 10e9));
  }
  const ExchangeFit fit = fit_exchanges(series_of(result.tables, "test"))[0];
  REQUIRE(fit.ranges.size() == 2);
  CHECK(fit.ranges[0].max_message == 32_KiB);
  CHECK(fit.ranges[1].alpha->value.value() == Approx(60e-6).epsilon(0.02));
}

TEST_CASE("Kernels that overlap with a collective slow down the collective, and are slowed down") {
  SweepPlan plan = plan_of({});
  plan.overlap = true;
  const SweepResult result = run("ranks=4 nodes=2 noise=0 exchange_slowdown=1.5 kernel_slowdown=1.2", plan);
  REQUIRE(result.overlap);
  CHECK(result.overlap->exchange_overlapped / result.overlap->exchange_alone == Approx(1.5));
  CHECK(result.overlap->kernel_overlapped / result.overlap->kernel_alone == Approx(1.2));
  CHECK(result.overlap->ranks == 4);
}

TEST_CASE("Sizes double, and floats are shared evenly") {
  SweepPlan plan;
  plan.smallest = 4;
  plan.largest = 64;
  const auto sizes = [&](SweepOperation operation, int ranks) { return sweep_sizes(plan, operation, ranks); };
  using Sizes = std::vector<std::int64_t>;
  CHECK(sizes(SweepOperation::latency, 2) == Sizes{4, 8, 16, 32, 64});
  CHECK(sizes(SweepOperation::reduce_scatter, 3) == Sizes{12, 24, 48});
  // The sizes are those of one rank's part. Four parts are at most 64 bytes.
  CHECK(sizes(SweepOperation::all_to_all, 4) == Sizes{1, 2, 4, 8, 16});
  plan.smallest = 1;
  CHECK(sizes(SweepOperation::allreduce, 2) == Sizes{4, 8, 16, 32, 64});
}

TEST_CASE("Groups are chosen so that ranks per node and nodes vary") {
  using Ranks = std::vector<int>;
  const std::vector<int> nodes{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2};
  const std::vector<SweepGroup> pairs = sweep_pairs(nodes);
  REQUIRE(pairs.size() == 2);
  CHECK(pairs[0] == SweepGroup{{0, 1}, 1});
  CHECK(pairs[1] == SweepGroup{{0, 4}, 2});
  const std::vector<SweepGroup> groups = sweep_collective_groups(nodes);
  REQUIRE(groups.size() == 5);
  CHECK(groups[0] == SweepGroup{{0, 1}, 1});
  CHECK(groups[1] == SweepGroup{{0, 1, 2, 3}, 1});
  CHECK(groups[2] == SweepGroup{{0, 4}, 2});
  CHECK(groups[3] == SweepGroup{{0, 4, 8}, 3});
  // Each node has the same number of ranks: the last node has three.
  CHECK(groups[4] == SweepGroup{{0, 1, 2, 4, 5, 6, 8, 9, 10}, 3});
  const auto contenders = sweep_contenders(nodes);
  REQUIRE(contenders.size() == 3);
  CHECK(contenders[2] == std::vector<Ranks>{{0, 4, 8}, {1, 5, 9}, {2, 6, 10}});
  CHECK(sweep_collective_groups(Ranks{0}).size() == 1);
  CHECK(sweep_pairs(Ranks{0}).empty());
}

TEST_CASE("A size that would take too long is skipped, with a warning") {
  SweepPlan plan = plan_of({SweepOperation::latency});
  plan.longest_row = Seconds(1);
  const SweepResult result = run("ranks=2 nodes=2 bandwidth=1 MB/s noise=0", plan);
  // With 128 KiB, six samples take 0.79 s. With 256 KiB, they take 1.6 s.
  REQUIRE(result.tables.size() == 1);
  CHECK(result.tables[0].rows.back().bytes == 128 << 10);
  REQUIRE(result.warnings.size() == 1);
  CHECK(result.warnings[0] ==
        "latency of 2 ranks on 2 nodes: sizes above 128 KiB were skipped, since each would take longer than 1.00 s");
}

TEST_CASE("Concurrent groups and overlapped kernels do not use sizes that took too long") {
  SweepPlan plan = plan_of({SweepOperation::allreduce});
  plan.contention = plan.overlap = true;
  plan.longest_row = Seconds(1);
  const SweepResult result = run("ranks=4 nodes=2 bandwidth=1 MB/s noise=0", plan);
  // Six allreduces by a ring of four ranks take 0.59 s for 64 KiB, and 1.2 s for 128 KiB.
  REQUIRE(result.tables.back().rows.back().bytes == 64 << 10);
  REQUIRE(result.overlap);
  CHECK(result.overlap->bytes == 64 << 10);
  CHECK(result.overlap->exchange_alone < Seconds(0.1));
  CHECK(result.contention.size() == 2);
}

namespace {

/// Two processes, of which the second returns values that a test sets.
class TwoProcesses final : public Processes {
 public:
  explicit TwoProcesses(std::string other) : other_(std::move(other)) {}
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int count() const override { return 2; }
  [[nodiscard]] const std::vector<int>& nodes() const override { return nodes_; }
  [[nodiscard]] const std::vector<std::string>& node_names() const override { return names_; }
  [[nodiscard]] std::vector<std::string> gather(const std::string& text) override {
    ++gathered;
    return {text, other_};
  }
  void abort_all() noexcept override {}
  int gathered = 0;

 private:
  std::string other_;
  std::vector<int> nodes_{0, 0};
  std::vector<std::string> names_{"here"};
};

/// A device whose kernels fail in a given round, with a network that fails in a given exchange.
/// Rounds and exchanges are counted from 1; with 0, none fails.
class FailingLoad final : public DeviceLoad {
 public:
  explicit FailingLoad(int round) : round_(round) {}
  void start() override {}
  [[nodiscard]] Seconds stop() override {
    if (--round_ == 0) throw Error("the kernel failed", "look at it");
    return Seconds(1e-3);
  }

 private:
  int round_;
};

class FailingNetwork final : public Transport {
 public:
  FailingNetwork(int step, int round) : step_(step), round_(round) {}
  [[nodiscard]] std::string name() const override { return whole_->name(); }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> details() const override { return whole_->details(); }
  [[nodiscard]] Processes& processes() override { return whole_->processes(); }
  [[nodiscard]] const std::vector<int>& nodes() const override { return whole_->nodes(); }
  [[nodiscard]] std::vector<std::vector<Seconds>> time(const ExchangeStep& step, int repetitions) override {
    if (--step_ == 0) throw Error("the exchange failed");
    return whole_->time(step, repetitions);
  }
  [[nodiscard]] std::unique_ptr<DeviceLoad> simulated_load() override { return std::make_unique<FailingLoad>(round_); }

 private:
  std::unique_ptr<Transport> whole_ = network("ranks=4 nodes=2 noise=0");
  int step_, round_;
};

}  // namespace

TEST_CASE("An error in one process ends all processes with the same message") {
  TwoProcesses well("");
  CHECK_NOTHROW(do_or_agree(well, [] {}));
  TwoProcesses other("no GPU");
  CHECK_THROWS_WITH(do_or_agree(other, [] {}), "rank 1: no GPU");
  TwoProcesses second("");
  CHECK_THROWS_WITH(do_or_agree(second, [] { throw Error("no kernel"); }), "rank 0: no kernel");
  // The failing rank and the successful ranks have gathered equally often.
  CHECK(second.gathered == well.gathered);
  TwoProcesses third("");
  CHECK_THROWS_AS(do_or_agree(third, [] { throw std::runtime_error("out of threads"); }), AgreedError);
}

TEST_CASE("Kernels that fail are a warning, and a collective that fails meanwhile ends the sweep") {
  SweepPlan plan = plan_of({});
  plan.overlap = true;
  for (const int round : {1, 2}) {
    FailingNetwork transport(0, round);
    const SweepResult result = run_sweep(transport, plan, {});
    CHECK_FALSE(result.overlap);
    REQUIRE(result.warnings.size() == 1);
    CHECK(result.warnings[0] == "no kernels were overlapped with a collective: rank 0: the kernel failed");
  }
  FailingNetwork whole(0, 0);
  CHECK(run_sweep(whole, plan, {}).overlap);
  FailingNetwork transport(1, 0);
  CHECK_THROWS_WITH(run_sweep(transport, plan, {}), "the exchange failed");
}

namespace {

/// A network whose ranks connect during the first two exchanges of a size.
class ConnectingNetwork final : public Transport {
 public:
  [[nodiscard]] std::string name() const override { return whole_->name(); }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> details() const override { return whole_->details(); }
  [[nodiscard]] Processes& processes() override { return whole_->processes(); }
  [[nodiscard]] const std::vector<int>& nodes() const override { return whole_->nodes(); }
  [[nodiscard]] std::vector<std::vector<Seconds>> time(const ExchangeStep& step, int repetitions) override {
    auto times = whole_->time(step, repetitions);
    if (seen_[step.bytes]++ < 2) {
      for (auto& group : times) {
        for (Seconds& each : group) each += Seconds(0.03) / repetitions;
      }
    }
    return times;
  }

 private:
  std::unique_ptr<Transport> whole_ = network("ranks=2 nodes=2 latency=5 us noise=0");
  std::map<std::int64_t, int> seen_;
};

}  // namespace

TEST_CASE("The time to connect ranks affects neither repetitions nor times") {
  ConnectingNetwork transport;
  for (const std::int64_t bytes : {4, 8}) {
    const ExchangeStep step{.operation = SweepOperation::allreduce, .bytes = bytes, .groups = {{0, 1}}};
    const StepTiming timing = time_step(transport, step, {});
    // An allreduce of two ranks by a ring consists of two messages of 5 us, so a sample of 1 ms has a hundred.
    CHECK(timing.repetitions == 100);
    CHECK(timing.time().value() == Approx(10e-6).epsilon(1e-3));
  }
}

TEST_CASE("A time below the clock's resolution is not printed") {
  SweepResult result = run("ranks=2 nodes=2 noise=0", plan_of({SweepOperation::bandwidth}));
  result.tables[0].rows[0].timing.samples.median = Seconds(0);
  const std::string text = print_osu(result.tables, "MPI");
  CHECK_FALSE(contains(text, "inf"));
  CHECK_FALSE(contains(text, "\n4 "));
  CHECK(contains(text, "\n8 "));
}

TEST_CASE("The line with ranks and nodes is parsed strictly") {
  const auto problem = [](const std::string& line) {
    std::vector<std::string> warnings;
    const std::string text = line + "\n# OSU MPI Latency Test v7.4\n# Size Latency (us)\n1 2.00\n";
    return error_of([&] { static_cast<void>(parse_exchanges(text, "f", {}, warnings)); });
  };
  CHECK(contains(problem("# ddl-oracle: ranks=two"), "f:1:21"));
  CHECK(contains(problem("# ddl-oracle: nodes=0"), "'nodes=0' is not a whole number"));
  CHECK(contains(problem("# ddl-oracle: racks=2"), "is not a property of a sweep"));
}

TEST_CASE("How long a process waited for a processor is read from the kernel") {
  const std::optional<ProcessorTurns> turns = parse_processor_turns("2031113157 1500000000 61");
  REQUIRE(turns);
  CHECK(turns->waited.value() == Approx(1.5));
  CHECK(turns->turns == 61);
  for (const char* text : {"", "12 13", "12 x 14", "12 -13 14"}) CHECK_FALSE(parse_processor_turns(text));
  SoleProcess alone;
  const ProcessorWait wait;
  CHECK(wait.longest(alone) >= Seconds(0));
}

TEST_CASE("Values of a simulated network are parsed strictly") {
  const auto problem = [](const std::string& figures) { return error_of([&] { static_cast<void>(network(figures)); }); };
  CHECK(contains(problem("ranks=8 nodes=3"), "8 ranks are not a multiple of 3 nodes"));
  CHECK(contains(problem("ranks=0"), "test:1:7: there are no ranks"));
  CHECK(contains(problem("ranks=5000"), "'5000' is not a valid ranks"));
  CHECK(contains(problem("latencies=1 us"), "a simulated network has no 'latencies'"));
  CHECK(contains(problem("kernel_slowdown=0.5"), "kernel_slowdown is below 1"));
  CHECK(contains(problem("protocols=LL:1"), "test:1:11: 'LL:1': this is not a protocol"));
  CHECK(contains(problem("protocols=LL:1:1:4 KiB"), "this is not a protocol"));
  CHECK(contains(problem("protocols=A:1:1:4 KiB/B:0:1"), "test:1:23: 'B:0:1': '0' is not a number above 0"));
  CHECK(contains(problem("protocols=A:1:1:4 KiB/B:1:2"), "'2' is not a number above 0 and up to 1"));
  CHECK(contains(problem("protocols=A:1:1:4/B:1:1"), "'4' has no unit"));
  CHECK(contains(problem("protocols=A:1:1:4 KiB/B:1:1:2 KiB/C:1:1"), "sizes must ascend"));
  CHECK(contains(problem("rendezvous=64"), "'64' has no unit"));
  CHECK(contains(problem("latency=1.7e308 s"), "test:1:9: latency of '1.7e308 s' is too large"));
  CHECK(contains(problem("latency_inside=2e6 s"), "latency_inside of '2e6 s' is too large"));
  CHECK(contains(problem("bandwidth=1e200 GB/s"), "test:1:11: bandwidth of '1e200 GB/s' is too large"));
}

}  // namespace ddl::sweep_tests
