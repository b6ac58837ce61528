#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "calibration/network/sweep/agreement.hpp"
#include "calibration/network/sweep/gathered_numbers.hpp"
#include "calibration/network/sweep/rendezvous/meeting_place.hpp"
#include "calibration/network/sweep/rendezvous/packed_text.hpp"
#include "calibration/network/sweep/rendezvous/slurm_hosts.hpp"
#include "calibration/network/sweep/rendezvous/sockets.hpp"
#include "calibration/network/sweep/rendezvous/tcp_processes.hpp"
#include "calibration/network/sweep/sweep.hpp"
#include "calibration/network/sweep/transports.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace ddl::rendezvous_tests {
namespace {

using Variables = std::map<std::string, std::string>;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Environment environment_of(const Variables& variables) {
  return [variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

/// The time limit for expected events, which is long enough for any machine, and the time limit for
/// events that must not occur, which is short enough for a test.
constexpr Seconds long_enough(60), not_long(0.3);

MeetingPlace free_place() { return {.host = "localhost", .port = Listener("localhost", 0).port()}; }

/// Runs several ranks, each in a separate thread. The outcome of a rank is the result of its work, or its error.
class Launch {
 public:
  using Work = std::function<std::string(TcpProcesses&)>;

  void start(int rank, int ranks, Seconds patience, const Work& work, const Variables& variables = {}) {
    start({.rank = rank, .ranks = ranks, .launcher = "test"}, place, patience, work, variables);
  }
  void start(const LaunchedRank& rank, const MeetingPlace& at, Seconds patience, const Work& work,
             const Variables& variables = {}) {
    results_.push_back(std::async(std::launch::async, [=] {
      std::string said;
      const std::string error = error_of([&] {
        TcpProcesses processes(rank, at, patience, environment_of(variables));
        said = work(processes);
      });
      return error == "no error" ? said : error;
    }));
  }
  std::vector<std::string> results() {
    std::vector<std::string> all;
    for (auto& each : results_) all.push_back(each.get());
    results_.clear();
    return all;
  }

  MeetingPlace place = free_place();

 private:
  std::vector<std::future<std::string>> results_;
};

std::string gathered(TcpProcesses& processes) {
  std::string all;
  for (int round = 0; round < 3; ++round) {
    for (const std::string& each : processes.gather(std::to_string(processes.rank() * 10 + round))) all += each + " ";
  }
  return all;
}

/// A simulated network, whose ranks are real processes.
class PlayedNetwork final : public Transport {
 public:
  PlayedNetwork(const std::string& figures, Processes& processes)
      : whole_(open_simulated_network(figures, "test")), processes_(processes) {}
  [[nodiscard]] std::string name() const override { return whole_->name(); }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> details() const override { return whole_->details(); }
  [[nodiscard]] Processes& processes() override { return processes_; }
  [[nodiscard]] const std::vector<int>& nodes() const override { return processes_.nodes(); }
  [[nodiscard]] std::vector<std::vector<Seconds>> time(const ExchangeStep& step, int repetitions) override {
    auto times = whole_->time(step, repetitions);
    double mine = 0;
    for (std::size_t group = 0; group < step.groups.size(); ++group) {
      for (std::size_t i = 0; i < step.groups[group].size(); ++i) {
        if (step.groups[group][i] == processes_.rank()) mine = times[group][i].value();
      }
    }
    const std::vector<double> all = gather_numbers(processes_, mine);
    for (std::size_t group = 0; group < step.groups.size(); ++group) {
      for (std::size_t i = 0; i < step.groups[group].size(); ++i) {
        times[group][i] = Seconds(all[static_cast<std::size_t>(step.groups[group][i])]);
      }
    }
    return times;
  }

 private:
  std::unique_ptr<Transport> whole_;
  Processes& processes_;
};

}  // namespace

TEST_CASE("the first host of a Slurm node list is found") {
  CHECK(first_slurm_host("node7") == "node7");
  CHECK(first_slurm_host("node[07-12,20],login") == "node07");
  CHECK(first_slurm_host("gpu-a[3,1-2].cluster") == "gpu-a3.cluster");
  CHECK(first_slurm_host("r[1-2]n[03-04]") == "r1n03");
  CHECK(first_slurm_host("a,b[1-2]") == "a");
  for (const char* wrong : {"", ",a", "node[", "node[]", "node[x-y]", "no de", "node[1-2", "n(2)"}) {
    CAPTURE(wrong);
    CHECK_FALSE(first_slurm_host(wrong));
  }
}

TEST_CASE("texts are packed and unpacked, and truncated texts are refused") {
  const std::vector<std::string> texts{"", "a", std::string("\0\n", 2), std::string(70'000, 'x')};
  const std::string packed = pack(texts);
  CHECK(unpack(packed) == texts);
  CHECK(unpack("") == std::vector<std::string>{});
  for (const std::size_t cut : {1UL, 3UL, 8UL, packed.size() - 1}) CHECK_FALSE(unpack(packed.substr(0, cut)));
  CHECK_FALSE(unpack("\xff\xff\xff\xff"));
}

TEST_CASE("the environment variables determine the rendezvous") {
  const LaunchedRank by_torchrun{.rank = 1, .ranks = 4, .launcher = "torchrun"},
      by_slurm{.rank = 1, .ranks = 4, .launcher = "Slurm"};
  const auto place = [](const LaunchedRank& rank, const Variables& variables, const std::string& asked = "") {
    return meeting_place(rank, asked, environment_of(variables)).value();
  };
  const Variables address{{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}};
  CHECK(place(by_torchrun, address) == MeetingPlace{"node1", 29500, ""});
  // torchrun's agent listens at this port for PyTorch.
  Variables of_agent = address;
  of_agent["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  of_agent["TORCHELASTIC_RUN_ID"] = "job7";
  CHECK(place(by_torchrun, of_agent) == MeetingPlace{"node1", 29501, "job7"});
  of_agent["MASTER_PORT"] = "65535";
  CHECK(place(by_torchrun, of_agent).port == 65534);
  of_agent["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  CHECK(place(by_torchrun, of_agent).port == 65535);
  CHECK(place(by_torchrun, of_agent, "other:99") == MeetingPlace{"other", 99, "job7"});
  CHECK(place(by_torchrun, {}, "[fd00::1]:29500") == MeetingPlace{"fd00::1", 29500, ""});

  const Variables step{{"SLURM_STEP_NODELIST", "gpu[08-09]"},
                       {"SLURM_JOB_ID", "100001"},
                       {"SLURM_STEP_ID", "2"},
                       {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"}};
  // The port is 20000 + (7 · 100001 + 2) mod 12000.
  CHECK(place(by_slurm, step) == MeetingPlace{"gpu08", 24009, "100001.2"});
  Variables with_port = step;
  with_port["MASTER_PORT"] = "5";
  CHECK(place(by_slurm, with_port) == MeetingPlace{"gpu08", 5, "100001.2"});
  CHECK(place(by_slurm, {{"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"}}).host == "10.0.0.1");
  CHECK_FALSE(meeting_place({.ranks = 2, .launcher = "Open MPI"}, "", environment_of({})));

  const auto problem = [](const LaunchedRank& rank, const Variables& variables, const std::string& asked = "") {
    return error_of([&] { static_cast<void>(meeting_place(rank, asked, environment_of(variables))); });
  };
  CHECK(problem(by_torchrun, {{"MASTER_ADDR", "node1"}}) ==
        "the environment variable MASTER_ADDR is set, but MASTER_PORT is not\n"
        "hint: rank 0 listens at MASTER_ADDR and MASTER_PORT; or use --rendezvous HOST:PORT");
  CHECK(
      problem(by_torchrun, {{"MASTER_PORT", "1"}}).starts_with("the environment variable MASTER_PORT is set, but MASTER_"));
  CHECK(problem(by_torchrun, {{"MASTER_ADDR", "a"}, {"MASTER_PORT", "65536"}})
            .starts_with("the environment variable MASTER_PORT is '65536', not a number from 1 to 65535"));
  CHECK(problem(by_slurm, {}).starts_with("srun does not provide the host of rank 0"));
  for (const char* wrong :
       {"node1", "node1:", ":1", "node1:0", "node1:x", "fd00::1:29500", "a b:1", "node1:65536", "http://a:1"}) {
    CHECK(
        problem(by_torchrun, {}, wrong).starts_with("--rendezvous '" + std::string(wrong) + "' is not a host with a port"));
  }
}

TEST_CASE("processes find each other in any order, and every process receives the texts of all") {
  // rendezvous_ipv6_test tests an address of IPv6.
  for (const char* const host : {"localhost", "127.0.0.1"}) {
    CAPTURE(host);
    Launch launch;
    launch.place = {.host = host, .port = Listener(host, 0).port()};
    launch.start(3, 4, long_enough, gathered);
    launch.start(1, 4, long_enough, gathered);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    launch.start(0, 4, long_enough, gathered);
    launch.start(2, 4, long_enough, gathered);
    for (const std::string& all : launch.results()) CHECK(all == "0 10 20 30 1 11 21 31 2 12 22 32 ");
  }
}

TEST_CASE("long texts arrive complete, and a single rank can gather, too") {
  Launch launch;
  const auto work = [](TcpProcesses& processes) {
    const std::string text(3'000'000 + static_cast<std::size_t>(processes.rank()),
                           static_cast<char>('a' + processes.rank()));
    const std::vector<std::string> all = processes.gather(text);
    return all.at(0) == std::string(3'000'000, 'a') && all.at(1) == std::string(3'000'001, 'b') ? "whole" : "not whole";
  };
  launch.start(0, 2, long_enough, work);
  launch.start(1, 2, long_enough, work);
  CHECK(launch.results() == std::vector<std::string>{"whole", "whole"});
  launch.start(0, 1, long_enough, gathered);
  CHECK(launch.results() == std::vector<std::string>{"0 1 2 "});
}

TEST_CASE("ranks on one machine are on one node, by NCCL's identification of hosts") {
  Launch launch;
  const auto nodes = [](TcpProcesses& processes) {
    std::string all;
    for (const int node : processes.nodes()) all += std::to_string(node) + " ";
    return all + std::to_string(processes.node_names().size());
  };
  for (const auto& [rank, host] : {std::pair(0, "b"), std::pair(1, "a"), std::pair(2, "b"), std::pair(3, "c")}) {
    launch.start(rank, 4, long_enough, nodes, {{"NCCL_HOSTID", host}});
  }
  for (const std::string& all : launch.results()) CHECK(all == "0 1 0 2 3");
  for (const int rank : {0, 1}) launch.start(rank, 2, long_enough, nodes);
  for (const std::string& all : launch.results()) CHECK(all == "0 0 1");
}

TEST_CASE("a sweep among processes has the same result in all processes") {
  Launch launch;
  const auto sweep = [](TcpProcesses& processes) {
    PlayedNetwork network("ranks=4 nodes=2 noise=0.05", processes);
    SweepPlan plan{.operations = {SweepOperation::latency, SweepOperation::allreduce}, .overlap = false, .largest = 1 << 16};
    const SweepResult result = run_sweep(network, plan, {});
    std::string all = std::to_string(result.tables.size()) + " tables:";
    for (const SweepTable& table : result.tables) {
      for (const SweepRow& row : table.rows) all += " " + std::to_string(row.timing.time().value());
    }
    for (const ContentionPoint& point : result.contention) all += " " + std::to_string(point.slowdown);
    return all;
  };
  for (const int rank : {0, 1, 2, 3}) {
    launch.start(rank, 4, long_enough, sweep, {{"NCCL_HOSTID", rank < 2 ? "a" : "b"}});
  }
  const std::vector<std::string> results = launch.results();
  CHECK(contains(results[0], "5 tables: 0.0000"));
  for (const std::string& each : results) CHECK(each == results[0]);
}

TEST_CASE("all connected ranks name a missing rank") {
  Launch launch;
  launch.start(0, 4, not_long, gathered);
  launch.start(2, 4, not_long, gathered);
  const std::string where = print_endpoint("localhost", launch.place.port);
  for (const std::string& error : launch.results()) {
    CHECK(error == "ranks 1 and 3 of 4 have not connected to " + where +
                       " within 0.3 s\nhint: see the output of these ranks, or wait longer: --patience");
  }
}

TEST_CASE("a missing rank 0 is reported, with its address") {
  Launch launch;
  launch.start(1, 2, not_long, gathered);
  const std::string error = launch.results().front();
  CHECK(error.starts_with("rank 1 of 2 did not find rank 0 at " + print_endpoint("localhost", launch.place.port) +
                          " within 0.3 s: Connection refused"));
  launch.place.host = "no-such-host.invalid";
  launch.start(1, 2, not_long, gathered);
  const std::string unknown = launch.results().front();
  CHECK((contains(unknown, "the host 'no-such-host.invalid' cannot be resolved") ||
         contains(unknown, "did not find rank 0 at no-such-host.invalid")));
}

TEST_CASE("a duplicate rank, other numbers of ranks, and other versions of the program are refused on all ranks") {
  Launch launch;
  const auto all_say = [&](const std::string& beginning) {
    for (const std::string& error : launch.results()) {
      CAPTURE(error);
      CHECK(error.starts_with(beginning));
    }
  };
  SECTION("a duplicate rank") {
    launch.start(0, 3, long_enough, gathered);
    launch.start(1, 3, long_enough, gathered);
    launch.start(1, 3, long_enough, gathered);
    all_say("rank 1 connected twice: from ");
  }
  SECTION("a rank with another number of ranks") {
    launch.start(0, 3, long_enough, gathered);
    launch.start(1, 2, long_enough, gathered);
    all_say("rank 1 on ");
  }
  SECTION("a rank beyond the number of ranks") {
    launch.start(0, 2, long_enough, gathered);
    launch.start(5, 8, long_enough, gathered);
    all_say("rank 5 on ");
  }
  SECTION("a rank of another version") {
    launch.start(0, 2, long_enough, gathered);
    std::string why;
    std::optional<Connection> guest;
    const Deadline until(long_enough);
    while (!guest) guest = try_to_connect("localhost", launch.place.port, until, why);
    REQUIRE(guest->send("ddl-oracle ranks 1\n", until));
    REQUIRE(guest->send(Frame{FrameKind::hello, pack({"1", "2", "node", "elsewhere", "", "0.0.0"})}, until));
    all_say("rank 1 on elsewhere is ddl-oracle 0.0.0, but rank 0 on ");
  }
}

TEST_CASE("a connection that is not a rank is closed, and the error names the connection if a rank is missing") {
  Launch launch;
  const Deadline until(long_enough);
  const auto connect = [&] {
    std::string why;
    std::optional<Connection> guest;
    while (!guest) guest = try_to_connect("localhost", launch.place.port, until, why);
    return std::move(*guest);
  };
  SECTION("the error shows the bytes of the connection") {
    launch.start(0, 2, Seconds(1), gathered);
    Connection stranger = connect();
    REQUIRE(stranger.send("GET / HTTP/1.1\r\n\r\n", until));
    const std::string error = launch.results().front();
    CHECK(contains(error, "rank 1 of 2 has not connected to"));
    CHECK(contains(error, "; another program connected from "));
    CHECK(contains(error, " and sent 'GET / HTTP/1.1"));
  }
  SECTION("the ranks find each other although another program connects") {
    launch.start(0, 2, long_enough, gathered);
    std::vector<Connection> strangers;
    const std::string hello_of_nobody(1, static_cast<char>(FrameKind::hello));
    for (const std::string& bytes :
         {std::string(""), std::string("GET / HTTP/1.1\r\n\r\n"), std::string("ddl-oracle ranks 9\n"),
          std::string("ddl-oracle ranks 1\nH\xff\xff\xff\xff"),
          "ddl-oracle ranks 1\n" + hello_of_nobody + std::string(4, '\0'),
          std::string("ddl-oracle ranks 1\nT\0\0\0\0", 24)}) {
      strangers.push_back(connect());
      REQUIRE(strangers.back().send(bytes, until));
    }
    launch.start(1, 2, long_enough, gathered);
    for (const std::string& all : launch.results()) CHECK(all == "0 10 1 11 2 12 ");
  }
  SECTION("a rank of another launch gets an error") {
    MeetingPlace other = launch.place;
    launch.place.run = "ours";
    other.run = "theirs";
    launch.start(0, 2, long_enough, gathered);
    Launch others;
    others.start({.rank = 1, .ranks = 2, .launcher = "test"}, other, long_enough, gathered);
    CHECK(others.results().front().starts_with("rank 0 of another launch is at localhost:"));
    launch.start(1, 2, long_enough, gathered);
    for (const std::string& all : launch.results()) CHECK(all == "0 10 1 11 2 12 ");
  }
}

TEST_CASE("another program at the meeting place is not mistaken for rank 0") {
  Listener listener("localhost", 0);
  Launch launch;
  launch.place.port = listener.port();
  SECTION("a program that sends text") {
    std::vector<Connection> taken;
    auto answer = std::async(std::launch::async, [&] {
      const Deadline until(long_enough);
      while (taken.empty() && wait_for_any(listener.sockets(), until)) {
        taken = listener.accept();
      }
      return taken.at(0).send("SSH-2.0-OpenSSH_9.2\r\n", until);
    });
    launch.start(1, 2, long_enough, gathered);
    CHECK(launch.results().front().starts_with("the program at " + print_endpoint("localhost", listener.port()) +
                                               " is not rank 0: it sent 'SSH-2.0-OpenSSH_9.2"));
    CHECK(answer.get());
  }
  SECTION("a program that sends no text") {
    launch.start(1, 2, not_long, gathered);
    CHECK(launch.results().front().starts_with("the program at " + print_endpoint("localhost", listener.port()) +
                                               " has been silent for 0.3 s, so it is not rank 0"));
  }
  SECTION("a program that occupies the port, so that rank 0 cannot listen") {
    launch.start(0, 2, not_long, gathered);
    CHECK(launch.results().front() == "rank 0 cannot listen at " + print_endpoint("localhost", listener.port()) +
                                          ": Address already in use\nhint: another program uses this port: use another "
                                          "MASTER_PORT, or --rendezvous HOST:PORT");
  }
}

TEST_CASE("a rank that ends with a message ends all with that message") {
  for (const int ending : {0, 2}) {
    CAPTURE(ending);
    Launch launch;
    const auto work = [&](TcpProcesses& processes) -> std::string {
      static_cast<void>(processes.gather(""));
      if (processes.rank() == ending) {
        processes.end_others("rank x: no GPU", "look for one");
        return "ended";
      }
      // One rank waits for messages of the others, and one for something else.
      if (processes.rank() == 1) {
        const Deadline until(long_enough);
        while (!until.is_over()) processes.look();
        return "never heard of it";
      }
      return gathered(processes);
    };
    for (const int rank : {0, 1, 2, 3}) launch.start(rank, 4, long_enough, work);
    const std::vector<std::string> results = launch.results();
    for (int rank = 0; rank < 4; ++rank) {
      CHECK(results[static_cast<std::size_t>(rank)] == (rank == ending ? "ended" : "rank x: no GPU\nhint: look for one"));
    }
  }
}

TEST_CASE("an error in one process ends all processes with the same message") {
  Launch launch;
  const auto work = [](TcpProcesses& processes) -> std::string {
    do_or_agree(processes, [&] {
      if (processes.rank() == 1) throw Error("there is no GPU", "find one");
    });
    return "it went well";
  };
  for (const int rank : {0, 1, 2}) launch.start(rank, 3, long_enough, work);
  for (const std::string& error : launch.results()) CHECK(error == "rank 1: there is no GPU\nhint: find one");
}

TEST_CASE("a silent rank is named by the others") {
  Launch launch;
  std::promise<void> over;
  const auto ended = over.get_future().share();
  const auto work = [&, ended](TcpProcesses& processes) -> std::string {
    if (processes.rank() == 1) {
      ended.wait();
      return "at last";
    }
    return gathered(processes);
  };
  Launch silent;
  silent.place = launch.place;
  launch.start(0, 3, not_long, work);
  silent.start(1, 3, not_long, work);
  launch.start(2, 3, not_long, work);
  for (const std::string& error : launch.results()) {
    CHECK(error == "rank 1 of 3 has been silent for 0.6 s\nhint: wait longer: --patience");
  }
  over.set_value();
  CHECK(silent.results() == std::vector<std::string>{"at last"});
}

TEST_CASE("a rank that is killed ends the others") {
  for (const int killed : {0, 1}) {
    CAPTURE(killed);
    Launch launch;
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      // The child process may only run this code, because locks that other threads hold at the fork
      // are never released in it.
      try {
        TcpProcesses processes({.rank = killed, .ranks = 3, .launcher = "test"}, launch.place, long_enough);
        static_cast<void>(processes.gather(""));
        raise(SIGKILL);
      } catch (...) {
        raise(SIGKILL);
      }
    }
    const auto work = [](TcpProcesses& processes) -> std::string {
      static_cast<void>(processes.gather(""));
      if (processes.rank() != 2) return gathered(processes);
      const Deadline until(long_enough);
      while (!until.is_over()) processes.look();
      return "never noticed";
    };
    for (const int rank : {0, 1, 2}) {
      if (rank != killed) launch.start(rank, 3, long_enough, work);
    }
    for (const std::string& error : launch.results()) {
      CAPTURE(error);
      CHECK(error.starts_with("rank " + std::to_string(killed) + " of 3 on "));
      CHECK(contains(error, " ended without a message"));
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
  }
}

TEST_CASE("ranks with different options of a sweep report an error") {
  Launch launch;
  const auto work = [](TcpProcesses& processes) -> std::string {
    PlayedNetwork network("ranks=3 nodes=1", processes);
    SweepPlan plan{.operations = {SweepOperation::latency}, .overlap = false};
    if (processes.rank() == 2) plan.largest = 64;
    try {
      static_cast<void>(run_sweep(network, plan, {}));
    } catch (const EndedElsewhere&) {
      throw;
    } catch (const Error& error) {
      processes.end_others(error.what(), error.hint());
      throw;
    }
    return "swept";
  };
  for (const int rank : {0, 1, 2}) launch.start(rank, 3, long_enough, work);
  for (const std::string& error : launch.results()) {
    CHECK(error.starts_with("rank 2 has other options than rank 0\nhint: start all ranks with the same options"));
  }
}

TEST_CASE("a rank without known launcher is refused, and a rank alone in an allocation gets a warning") {
  CHECK(warning_of_being_alone(environment_of({})).empty());
  CHECK(warning_of_being_alone(environment_of({{"SLURM_NTASKS", "1"}})).empty());
  CHECK(warning_of_being_alone(environment_of({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}})) ==
        "this process is alone in an allocation of 8 tasks: launch it with srun to start all of them");
  CHECK(warning_of_being_alone(environment_of({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}))
            .empty());
}

}  // namespace ddl::rendezvous_tests
