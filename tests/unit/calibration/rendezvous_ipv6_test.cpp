#include <future>
#include <optional>
#include <string>
#include <vector>

#include "calibration/network/sweep/rendezvous/meeting_place.hpp"
#include "calibration/network/sweep/rendezvous/sockets.hpp"
#include "calibration/network/sweep/rendezvous/tcp_processes.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

namespace ddl::rendezvous_ipv6_tests {
namespace {

constexpr const char* loopback = "::1";

/// Returns a free place on this machine; empty on a machine without IPv6.
std::optional<MeetingPlace> free_place() {
  try {
    return MeetingPlace{.host = loopback, .port = Listener(loopback, 0).port()};
  } catch (const Error& error) {
    cannot_run("this machine has no " + std::string(loopback) + ": " + error.what());
    return std::nullopt;
  }
}

}  // namespace

TEST_CASE("processes find each other at an address of IPv6") {
  const std::optional<MeetingPlace> place = free_place();
  if (!place) return;
  std::vector<std::future<std::vector<std::string>>> ranks;
  for (const int rank : {1, 0, 2}) {
    ranks.push_back(std::async(std::launch::async, [=] {
      TcpProcesses processes({.rank = rank, .ranks = 3, .launcher = "test"}, *place, Seconds(60),
                             [](const char*) -> const char* { return nullptr; });
      return processes.gather(std::to_string(rank));
    }));
  }
  for (auto& rank : ranks) CHECK(rank.get() == std::vector<std::string>{"0", "1", "2"});
}

}  // namespace ddl::rendezvous_ipv6_tests
