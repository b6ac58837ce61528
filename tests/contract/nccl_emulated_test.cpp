// Tests the transport over an emulated NCCL: which functions it calls, in which order, and its
// behavior if a call does not return.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "calibration/network/sweep/sweep.hpp"
#include "calibration/network/sweep/transports/nccl/transport.hpp"
#include "calibration/network/sweep/transports/nccl/watched_work.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/contract/nccl_emulation/emulation.hpp"
#include "tests/error_of.hpp"

namespace ddl {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Emulates four processes of one node. This process is the second; the other processes return the same values.
class FourProcesses final : public Processes {
 public:
  [[nodiscard]] int rank() const override { return 1; }
  [[nodiscard]] int count() const override { return 4; }
  [[nodiscard]] const std::vector<int>& nodes() const override { return nodes_; }
  [[nodiscard]] const std::vector<std::string>& node_names() const override { return names_; }
  [[nodiscard]] std::vector<std::string> gather(const std::string& text) override {
    // The first rank of a group creates the group's id. Here, this process is the only rank of its group.
    return std::vector<std::string>(4, text.empty() ? "emulated" : text);
  }
  void look() override {
    ++looks;
    if (ends_at > 0 && looks >= ends_at) throw EndedElsewhere("rank 3 of 4 on nodeB ended without a message", "look at it");
  }
  void abort_all() noexcept override {}

  int looks = 0, ends_at = 0;

 private:
  std::vector<int> nodes_{0, 0, 0, 0};
  std::vector<std::string> names_{"here"};
};

ExchangeStep step_of(SweepOperation operation, std::int64_t bytes) {
  const bool of_pair = kind_of(operation).pattern != ExchangePattern::collective;
  return {.operation = operation,
          .bytes = bytes,
          .window = operation == SweepOperation::latency || !of_pair ? 1 : 8,
          .groups = of_pair ? std::vector<std::vector<int>>{{0, 1}} : std::vector<std::vector<int>>{{0, 1, 2, 3}}};
}

/// Returns a transport for one process, whatever the other processes report. The launcher's
/// environment would give local ranks, but tests have no launcher.
std::unique_ptr<Transport> transport(Processes& processes, const TransportOptions& options = {}) {
  emulated::reset();
  return nccl::make_transport(&processes, options);
}

const emulated::Exchange& last_of(const std::string& name) {
  const auto& all = emulated::seen().exchanges;
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const auto& each) { return each.name == name; });
  REQUIRE(found != all.rend());
  return *found;
}

}  // namespace

TEST_CASE("every operation stays within its memory, which is cleared in the stream before") {
  for (const bool in_place : {true, false}) {
    CAPTURE(in_place);
    FourProcesses processes;
    const auto nccl = transport(processes, {.in_place = in_place});
    for (const SweepOperationKind& kind : sweep_operations()) {
      for (const std::int64_t bytes : {16, 4096, 64, 1 << 20}) {
        CAPTURE(kind.name, bytes);
        for (const auto& group : nccl->time(step_of(kind.operation, bytes), 3)) {
          for (const Seconds time : group) CHECK(time > Seconds(0));
        }
      }
    }
    CHECK(emulated::seen().garbage == 0);
    CHECK(emulated::seen().out_of_bounds == 0);
  }
}

TEST_CASE("exchanges are in place, as in DDP and FSDP, or separate if requested") {
  const std::vector<std::pair<SweepOperation, std::string>> all{{SweepOperation::allreduce, "allreduce"},
                                                                {SweepOperation::allgather, "allgather"},
                                                                {SweepOperation::reduce_scatter, "reduce_scatter"},
                                                                {SweepOperation::broadcast, "broadcast"}};
  for (const bool in_place : {true, false}) {
    FourProcesses processes;
    const auto nccl = transport(processes, {.in_place = in_place});
    CHECK(nccl->details().back() == std::pair<std::string, std::string>("buffers", in_place ? "in place" : "separate"));
    for (const auto& [operation, name] : all) {
      CAPTURE(in_place, name);
      static_cast<void>(nccl->time(step_of(operation, 4096), 1));
      CHECK(last_of(name).in_place == in_place);
      CHECK(last_of(name).bytes == (operation == SweepOperation::allgather ? 4 * 4096 : 4096));
    }
  }
}

TEST_CASE("an asynchronous error of NCCL ends the exchange, with NCCL's message") {
  FourProcesses processes;
  const auto nccl = transport(processes, {.patience = Seconds(60)});
  static_cast<void>(nccl->time(step_of(SweepOperation::allreduce, 64), 1));
  emulated::script().error_at = static_cast<int>(emulated::seen().exchanges.size()) + 2;
  const std::string error = error_of([&] { static_cast<void>(nccl->time(step_of(SweepOperation::allreduce, 64), 5)); });
  CHECK(contains(error, "NCCL: an exchange failed: remote process exited"));
  CHECK(contains(error, "socket closed by the emulated peer"));
  CHECK(emulated::seen().aborted == 1);
}

TEST_CASE("an exchange that never ends is aborted after a time limit") {
  FourProcesses processes;
  const auto nccl = transport(processes, {.patience = Seconds(0.1)});
  emulated::script().stall_at = 2;  // after the barrier
  CHECK(error_of([&] {
          static_cast<void>(nccl->time(step_of(SweepOperation::allreduce, 64), 1));
        }).starts_with("NCCL: an exchange is not done after 0.1 s\nhint: another rank may have ended"));
  CHECK(emulated::seen().aborted == 1);
  CHECK(emulated::seen().destroyed == 0);
}

TEST_CASE("if a rank is known to have ended, the error names the rank instead of NCCL's error") {
  FourProcesses processes;
  const auto nccl = transport(processes, {.patience = Seconds(60)});
  SECTION("while an exchange waits for the rank") {
    emulated::script().stall_at = 3;
    processes.ends_at = processes.looks + 3;
    CHECK_THROWS_WITH(nccl->time(step_of(SweepOperation::allreduce, 64), 9), "rank 3 of 4 on nodeB ended without a message");
  }
  SECTION("if NCCL notices the ended rank first") {
    emulated::script().error_at = 3;
    processes.ends_at = processes.looks + 10;
    CHECK_THROWS_AS(nccl->time(step_of(SweepOperation::allreduce, 64), 9), EndedElsewhere);
  }
  CHECK(emulated::seen().aborted == 1);
}

TEST_CASE("joining a communicator is aborted after a time limit") {
  FourProcesses processes;
  auto nccl = transport(processes, {.patience = Seconds(0.1)});
  emulated::script().joining_hangs = true;
  CHECK(error_of([&] {
          static_cast<void>(nccl->time(step_of(SweepOperation::allreduce, 64), 1));
        }).starts_with("NCCL: joining a communicator is not done after 0.1 s"));
  nccl.reset();  // the reset must not wait for the join, either
  const auto joined = [] {
    const std::lock_guard lock(emulated::guard());
    emulated::script().joining_hangs = false;
    return emulated::seen().joined;
  };
  // Abandoned work ends before the next test, within a minute.
  for (int i = 0; i < 6000 && joined() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(joined() == 1);
}

TEST_CASE("communicators are aborted at the end, because destroying them waits for other ranks") {
  FourProcesses processes;
  auto nccl = transport(processes);
  static_cast<void>(nccl->time(step_of(SweepOperation::allreduce, 64), 1));
  static_cast<void>(nccl->time(step_of(SweepOperation::latency, 64), 1));
  nccl.reset();
  CHECK(emulated::seen().joined == 2);
  CHECK(emulated::seen().aborted == 2);
  CHECK(emulated::seen().destroyed == 0);
}

TEST_CASE("a failed allocation of GPU memory is reported") {
  FourProcesses processes;
  const auto nccl = transport(processes);
  CHECK(error_of([&] { static_cast<void>(nccl->time(step_of(SweepOperation::allreduce, std::int64_t{2} << 30), 1)); }) ==
        "CUDA: allocating memory for messages failed: cudaErrorMemoryAllocation (emulated)\n"
        "hint: a smaller --largest needs less memory");
}

TEST_CASE("a single rank sweeps copies within its GPU") {
  emulated::reset();
  const auto nccl = nccl::make_transport(nullptr, {});
  SweepPlan plan{.operations = {SweepOperation::allreduce}, .contention = false, .overlap = false, .largest = 1024};
  plan.rule.sampling.limit = Seconds(1e-4);
  const SweepResult result = run_sweep(*nccl, plan, {});
  REQUIRE(result.tables.size() == 1);
  CHECK(result.tables[0].ranks == 1);
}

TEST_CASE("abandoned work owns the data that it uses") {
  const auto used = std::make_shared<std::atomic<bool>>(false);
  const auto may_end = std::make_shared<std::atomic<bool>>(false);
  CHECK_FALSE(nccl::is_done_within(Seconds(0.02), [used, may_end] {
    while (!*may_end) std::this_thread::yield();
    *used = true;
  }));
  *may_end = true;
  // Abandoned work ends within a minute.
  for (int i = 0; i < 6000 && used.use_count() > 1; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(used.use_count() == 1);
  CHECK(*used);
  CHECK_THROWS_WITH(nccl::run_watched({.work = [] { throw Error("no"); }, .name = "it", .limit = Seconds(60)}), "no");
}

}  // namespace ddl
