#include "calibration/network/sweep/rendezvous/meeting_place.hpp"

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "calibration/network/sweep/rendezvous/slurm_hosts.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

constexpr int last_port = 65'535;

std::optional<int> read_port(std::string_view text) {
  int port = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (problem != std::errc() || end != text.data() + text.size() || port < 1 || port > last_port) return std::nullopt;
  return port;
}

std::string value_of(const Environment& environment, const char* name) {
  const char* const value = environment(name);
  return value == nullptr ? "" : value;
}

/// Parses `host:29500`, `127.0.0.1:29500`, `[fd00::1]:29500`.
MeetingPlace read_endpoint(const std::string& text) {
  const auto wrong = [&] {
    return Error(fmt::format("--rendezvous {} is not a host with a port", quote(text)),
                 "use for example --rendezvous node1:29500 or [fd00::1]:29500; or --rendezvous mpi");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) throw wrong();
  const std::optional<int> port = read_port(std::string_view(text).substr(colon + 1));
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    throw wrong();
  }
  if (!port || host.empty() || host.find_first_of(" \t/") != std::string::npos) throw wrong();
  return {.host = host, .port = *port};
}

/// A port below the ephemeral range that differs between steps of a job and between neighboring jobs.
int slurm_port(const Environment& environment) {
  constexpr int first = 20'000, ports = 12'000, steps = 7;
  const auto number = [&](const char* name) {
    const std::string text = value_of(environment, name);
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  return first + static_cast<int>((number("SLURM_JOB_ID") * steps + number("SLURM_STEP_ID")) % ports);
}

std::string slurm_host(const Environment& environment) {
  for (const char* const name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
    if (auto host = first_slurm_host(value_of(environment, name))) return *host;
  }
  std::string launched_from = value_of(environment, "SLURM_LAUNCH_NODE_IPADDR");
  if (launched_from.empty()) {
    throw Error("srun does not provide the host of rank 0: SLURM_STEP_NODELIST is not set, or is not a list of hosts",
                "set MASTER_ADDR to that host, or use --rendezvous HOST:PORT");
  }
  return launched_from;
}

}  // namespace

std::optional<MeetingPlace> meeting_place(const LaunchedRank& rank, const std::string& asked,
                                          const Environment& environment) {
  MeetingPlace place;
  if (!asked.empty()) place = read_endpoint(asked);
  const bool by_slurm = rank.launcher == "Slurm";
  const std::string address = value_of(environment, "MASTER_ADDR"), port = value_of(environment, "MASTER_PORT");
  if (asked.empty()) {
    if (address.empty() && port.empty() && !by_slurm) return std::nullopt;
    if (!by_slurm && (address.empty() || port.empty())) {
      const bool lacks_address = address.empty();
      throw Error(fmt::format("the environment variable {} is set, but {} is not",
                              lacks_address ? "MASTER_PORT" : "MASTER_ADDR", lacks_address ? "MASTER_ADDR" : "MASTER_PORT"),
                  "rank 0 listens at MASTER_ADDR and MASTER_PORT; or use --rendezvous HOST:PORT");
    }
    place.host = address.empty() ? slurm_host(environment) : address;
    if (port.empty()) {
      place.port = slurm_port(environment);
    } else {
      const std::optional<int> number = read_port(port);
      if (!number) {
        throw Error(
            fmt::format("the environment variable MASTER_PORT is {}, not a number from 1 to {}", quote(port), last_port),
            "a launcher such as torchrun sets this variable; or use --rendezvous HOST:PORT");
      }
      place.port = *number;
      if (value_of(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True") {
        place.port += place.port < last_port ? 1 : -1;
      }
    }
  }
  place.run = value_of(environment, "TORCHELASTIC_RUN_ID");
  if (place.run.empty() && by_slurm) {
    place.run = fmt::format("{}.{}", value_of(environment, "SLURM_JOB_ID"), value_of(environment, "SLURM_STEP_ID"));
  }
  return place;
}

}  // namespace ddl
