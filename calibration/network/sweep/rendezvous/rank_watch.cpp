#include "calibration/network/sweep/rendezvous/rank_watch.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "calibration/network/sweep/rendezvous/joining.hpp"
#include "calibration/network/sweep/rendezvous/packed_text.hpp"
#include "calibration/network/sweep/rendezvous/sockets.hpp"
#include "core/error.hpp"

namespace ddl {
namespace {

using Clock = std::chrono::steady_clock;

/// Timeout of an attempt to connect, long enough for one lost packet. If a firewall drops packets,
/// each attempted address takes this time.
constexpr Seconds to_connect(5);
/// How long ranks wait before they report a dead rank. Meanwhile, the launcher may detect the dead
/// rank and end the other ranks, with a more informative message.
constexpr Seconds for_the_launcher(5);
constexpr Seconds to_be_sent(1);

/// The addresses of this machine under which other machines may reach it.
std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return addresses;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(list, freeifaddrs);
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* from = nullptr;
    if (each->ifa_addr->sa_family == AF_INET) {
      from = &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr;
    } else if (each->ifa_addr->sa_family == AF_INET6) {
      const in6_addr& six = reinterpret_cast<const sockaddr_in6*>(each->ifa_addr)->sin6_addr;
      if (!IN6_IS_ADDR_LINKLOCAL(&six)) from = &six;
    }
    if (from != nullptr && inet_ntop(each->ifa_addr->sa_family, from, text.data(), text.size()) != nullptr) {
      addresses.emplace_back(text.data());
    }
  }
  return addresses;
}

std::string new_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

std::optional<int> whole_number(const std::string& text) {
  int number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

/// The watching thread and its connections: rank 0 is connected to all other ranks, every other rank to rank 0.
class RankWatch::Watcher {
 public:
  Watcher(Processes& processes, Seconds silence, Alarm alarm, std::map<int, Connection> others)
      : silence_(silence), alarm_(std::move(alarm)), stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    for (int rank = 0; rank < processes.count(); ++rank) {
      const auto node = static_cast<std::size_t>(processes.nodes()[static_cast<std::size_t>(rank)]);
      names_.push_back(fmt::format("rank {} of {} on {}", rank, processes.count(), processes.node_names()[node]));
    }
    for (auto& [rank, connection] : others) others_.push_back({rank, std::move(connection), Clock::now(), std::nullopt});
    if (stop_ >= 0) thread_ = std::thread([this] { watch(); });
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() {
    if (thread_.joinable()) {
      static_cast<void>(eventfd_write(stop_, 1));
      thread_.join();
    }
    if (stop_ >= 0) ::close(stop_);
    for (Other& other : others_) {
      other.connection.send(Frame{FrameKind::end, {}}, Deadline(to_be_sent));
      other.connection.finish_sending();
    }
  }

 private:
  struct Other {
    int rank;
    Connection connection;
    Clock::time_point heard;
    std::optional<Clock::time_point> lost;  ///< time at which the connection was closed without a goodbye
  };

  static double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

  void watch() {
    const Seconds between = min(silence_ / 6, Seconds(1));
    Clock::time_point awake = Clock::now(), sent{};
    while (!others_.empty()) {
      std::vector<int> sockets{stop_};
      for (const Other& other : others_) {
        if (!other.lost) sockets.push_back(other.connection.socket());
      }
      static_cast<void>(wait_for_any(sockets, Deadline(between)));
      eventfd_t asked = 0;
      if (eventfd_read(stop_, &asked) == 0) return;
      // If this process was stopped by SIGSTOP, heartbeats that are missing since then are ignored.
      const bool was_away = seconds_since(awake) > 4 * between.value();
      awake = Clock::now();
      if (seconds_since(sent) >= between.value()) {
        for (Other& other : others_) {
          // If the buffer is full, the other side does not read. Its silence will be detected later.
          if (!other.lost) other.connection.send(Frame{FrameKind::word, {}}, Deadline(Seconds(0)));
        }
        sent = Clock::now();
      }
      std::erase_if(others_, [&](Other& other) { return !listen_to(other, was_away); });
      if (raise_alarm()) return;
    }
  }

  /// Returns whether `other` is still watched.
  static bool listen_to(Other& other, bool was_away) {
    if (was_away) other.heard = Clock::now();
    if (other.lost) return true;
    other.connection.read();
    try {
      while (const std::optional<Frame> frame = other.connection.take_frame()) {
        if (frame->kind == FrameKind::end) return false;
        other.heard = Clock::now();
      }
    } catch (const Error&) {
      return false;  // a message of another program
    }
    if (other.connection.is_closed()) other.lost = Clock::now();
    return true;
  }

  bool raise_alarm() {
    std::vector<int> silent;
    for (const Other& other : others_) {
      if (other.lost && seconds_since(*other.lost) > for_the_launcher.value()) {
        alarm_(name_of(other.rank) + " ended without a message", "see the output of that rank and of its launcher");
        return true;
      }
      if (!other.lost && seconds_since(other.heard) > silence_.value()) silent.push_back(other.rank);
    }
    if (silent.empty()) return false;
    const std::string who = silent.size() == 1 ? name_of(silent.front()) : name_ranks(silent);
    alarm_(fmt::format("{} {} sent no heartbeat for {} s", who, silent.size() == 1 ? "has" : "have", silence_.value()),
           "the rank was stopped, or its node cannot be reached; wait longer with --patience");
    return true;
  }

  const std::string& name_of(int rank) const { return names_[static_cast<std::size_t>(rank)]; }

  Seconds silence_;
  Alarm alarm_;
  int stop_;
  std::vector<std::string> names_;
  std::vector<Other> others_;
  std::thread thread_;
};

RankWatch::RankWatch(Processes& processes, Seconds silence, Alarm alarm) {
  const int rank = processes.rank();
  std::optional<Listener> listener;
  std::string place;
  if (rank == 0) {
    try {
      listener.emplace("", 0);
      std::vector<std::string> words{new_token(), std::to_string(listener->port())};
      for (std::string& address : own_addresses()) words.push_back(std::move(address));
      place = pack(words);
    } catch (const Error&) {  // ranks are then not watched, but the measurement continues
    }
  }
  const std::optional<std::vector<std::string>> words = unpack(processes.gather(place).front());
  const std::optional<int> port = words && words->size() >= 2 ? whole_number((*words)[1]) : std::nullopt;
  std::map<int, Connection> others;
  if (rank != 0 && port) {
    std::vector<std::string> hosts(words->begin() + 2, words->end());
    const bool is_near = processes.nodes()[static_cast<std::size_t>(rank)] == processes.nodes().front();
    if (is_near) hosts.insert(hosts.begin(), {"127.0.0.1", "::1"});
    for (const std::string& host : hosts) {
      std::string why_not;
      try {
        std::optional<Connection> connection = try_to_connect(host, *port, Deadline(to_connect), why_not);
        if (!connection) continue;
        connection->send(Frame{FrameKind::hello, pack({words->front(), std::to_string(rank)})}, Deadline(to_connect));
        others.emplace(0, std::move(*connection));
        break;
      } catch (const Error&) {  // try the next address
      }
    }
  }
  std::vector<int> missing;
  const std::vector<std::string> connected = processes.gather(others.empty() ? "" : "connected");
  for (int other = 1; other < processes.count(); ++other) {
    if (connected[static_cast<std::size_t>(other)].empty()) missing.push_back(other);
  }
  if (rank == 0 && listener && missing.empty()) {
    std::vector<Connection> guests;
    const Deadline until(to_connect);
    while (static_cast<int>(others.size()) + 1 < processes.count() && !until.is_over()) {
      for (Connection& fresh : listener->accept()) guests.push_back(std::move(fresh));
      std::vector<int> sockets = listener->sockets();
      for (Connection& guest : guests) sockets.push_back(guest.socket());
      static_cast<void>(wait_for_any(sockets, until));
      std::erase_if(guests, [&](Connection& guest) {
        guest.read();
        try {
          const std::optional<Frame> frame = guest.take_frame();
          if (!frame) return guest.is_closed();
          const auto said = unpack(frame->text);
          const std::optional<int> who = said && said->size() == 2 ? whole_number((*said)[1]) : std::nullopt;
          const bool is_ours = who && said->front() == words->front() && *who > 0 && *who < processes.count();
          if (is_ours) others.emplace(*who, std::move(guest));
        } catch (const Error&) {  // a message of another program
        }
        return true;
      });
    }
  }
  if (!missing.empty()) {
    warning_ = fmt::format("{} cannot reach rank 0 by TCP: a rank that hangs would not be noticed", name_ranks(missing));
    return;
  }
  if (!others.empty()) watcher_ = std::make_unique<Watcher>(processes, silence, std::move(alarm), std::move(others));
}

RankWatch::~RankWatch() = default;

}  // namespace ddl
