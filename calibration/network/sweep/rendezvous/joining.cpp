#include "calibration/network/sweep/rendezvous/joining.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <chrono>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "calibration/network/sweep/processes.hpp"
#include "calibration/network/sweep/rendezvous/packed_text.hpp"
#include "calibration/network/sweep/rendezvous/sockets.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/version.hpp"

namespace ddl {
namespace {

/// The text that both sides of a connection send first.
constexpr std::string_view greeting = "ddl-oracle ranks 1\n";
/// Timeout for sending a final message.
constexpr Seconds last_word(2);

std::string text_of(const PeerInfo& peer) {
  return pack({std::to_string(peer.rank), std::to_string(peer.ranks), peer.node, peer.name, peer.run, peer.version});
}

std::optional<PeerInfo> read_peer_info(std::string_view text) {
  const std::optional<std::vector<std::string>> parts = unpack(text);
  constexpr std::size_t count = 6;
  if (!parts || parts->size() != count) return std::nullopt;
  PeerInfo peer{.node = (*parts)[2], .name = (*parts)[3], .run = (*parts)[4], .version = (*parts)[5]};
  const auto number = [](const std::string& from, int& to) {
    const auto [end, problem] = std::from_chars(from.data(), from.data() + from.size(), to);
    return problem == std::errc() && end == from.data() + from.size() && to >= 0;
  };
  if (!number((*parts)[0], peer.rank) || !number((*parts)[1], peer.ranks)) return std::nullopt;
  return peer;
}

std::string_view first_of(std::string_view text) {
  constexpr std::size_t most = 40;
  return text.substr(0, std::min(most, text.size()));
}

/// Whether the received bytes start with the greeting, or may still become the greeting. A complete greeting is removed.
enum class Greeted { not_yet, yes, no };
Greeted take_greeting(Connection& from) {
  const std::string_view received = from.received();
  if (!greeting.starts_with(received.substr(0, greeting.size()))) return Greeted::no;
  if (received.size() < greeting.size()) return Greeted::not_yet;
  from.drop(greeting.size());
  return Greeted::yes;
}

/// Rank 0 during the time in which the other ranks connect.
class Host {
 public:
  Host(const PeerInfo& self, const MeetingPlace& place, Seconds patience)
      : self_(self),
        place_(place),
        patience_(patience),
        listener_(place.host, place.port),
        members_(static_cast<std::size_t>(self.ranks)) {
    members_[0].peer = self;
  }

  Joined wait() {
    const Deadline until(patience_);
    while (!missing().empty()) {
      std::vector<int> sockets = listener_.sockets();
      for (const Guest& guest : guests_) sockets.push_back(guest.connection.socket());
      for (const Member& member : members_) {
        if (member.connection) sockets.push_back(member.connection->socket());
      }
      if (!wait_for_any(sockets, until))
        refuse(what_is_missing(), "see the output of these ranks, or wait longer: --patience");
      for (Connection& fresh : listener_.accept()) {
        if (fresh.send(greeting, Deadline(last_word))) guests_.push_back({std::move(fresh)});
      }
      look_after_members();
      look_after_guests();
    }
    return welcome();
  }

 private:
  struct Guest {
    Connection connection;
    bool greeted = false, is_done = false;
  };
  struct Member {
    std::optional<PeerInfo> peer;
    std::optional<Connection> connection;
  };

  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      if (!members_[rank].peer) ranks.push_back(static_cast<int>(rank));
    }
    return ranks;
  }

  std::string what_is_missing() const {
    const std::vector<int> absent = missing();
    return fmt::format("{} of {} {} not connected to {} within {} s{}", name_ranks(absent), self_.ranks,
                       absent.size() == 1 ? "has" : "have", print_endpoint(place_.host, place_.port), patience_.value(),
                       stranger_.empty() ? "" : "; " + stranger_);
  }

  /// If a connected rank has ended or disconnected before all ranks have joined, ends all ranks with this reason.
  void look_after_members() {
    for (std::size_t rank = 1; rank < members_.size(); ++rank) {
      auto& [peer, connection] = members_[rank];
      if (!peer || !connection) continue;
      connection->read();
      if (const auto frame = connection->take_frame(); frame && frame->kind == FrameKind::end) {
        const std::vector<std::string> words = unpack(frame->text).value_or(std::vector<std::string>{});
        refuse(words.empty() ? "a rank ended" : words[0], words.size() < 2 ? "" : words[1]);
      }
      if (connection->is_closed()) {
        refuse(fmt::format("rank {} of {} on {} ended before all ranks had connected", rank, self_.ranks, peer->name),
               "see the output of that rank");
      }
    }
  }

  void look_after_guests() {
    for (Guest& guest : guests_) {
      guest.connection.read();
      if (!guest.greeted) {
        const Greeted greeted = take_greeting(guest.connection);
        if (greeted == Greeted::no) {
          stranger_ = fmt::format("another program connected from {} and sent {}", guest.connection.address(),
                                  quote(std::string(first_of(guest.connection.received()))));
          guest.is_done = true;
        }
        guest.greeted = greeted == Greeted::yes;
      }
      if (guest.greeted) take_in(guest);
      if (guest.connection.is_closed()) guest.is_done = true;
    }
    std::erase_if(guests_, [](const Guest& guest) { return guest.is_done; });
  }

  void take_in(Guest& guest) {
    std::optional<Frame> frame;
    try {
      frame = guest.connection.take_frame();
    } catch (const Error& error) {
      stranger_ = error.what();
      guest.is_done = true;
    }
    if (!frame) return;
    guest.is_done = true;
    const std::optional<PeerInfo> peer = frame->kind == FrameKind::hello ? read_peer_info(frame->text) : std::nullopt;
    if (!peer) {
      stranger_ = fmt::format("a connection from {} is not a rank", guest.connection.address());
      return;
    }
    if (peer->run != self_.run) {  // this is a rank of another launch; the rank of this launch may still connect
      stranger_ = fmt::format("rank {} of another launch connected from {}", peer->rank, peer->name);
      send_end_to(guest.connection,
                  fmt::format("rank 0 of another launch is at {}", print_endpoint(place_.host, place_.port)),
                  "use another MASTER_PORT, or --rendezvous HOST:PORT");
      return;
    }
    if (peer->version != self_.version) {
      refuse_with(guest,
                  fmt::format("rank {} on {} is ddl-oracle {}, but rank 0 on {} is {}", peer->rank, peer->name,
                              peer->version, self_.name, self_.version),
                  "start the same program on all ranks");
    }
    if (peer->ranks != self_.ranks || peer->rank >= self_.ranks) {
      refuse_with(guest,
                  fmt::format("rank {} on {} is one of {} ranks, but rank 0 on {} is one of {}", peer->rank, peer->name,
                              peer->ranks, self_.name, self_.ranks),
                  "set the same WORLD_SIZE for all ranks of a launch");
    }
    Member& member = members_[static_cast<std::size_t>(peer->rank)];
    if (member.peer) {
      refuse_with(guest,
                  fmt::format("rank {} connected twice: from {} and from {}", peer->rank, member.peer->name, peer->name),
                  "set a different RANK for each process");
    }
    member.peer = peer;
    member.connection.emplace(std::move(guest.connection));
    guest.connection = Connection(-1, "");
  }

  static void send_end_to(Connection& to, const std::string& what, const std::string& hint) {
    to.send(Frame{FrameKind::end, pack({what, hint})}, Deadline(last_word));
    to.finish_sending();
  }

  [[noreturn]] void refuse_with(Guest& guest, const std::string& what, const std::string& hint) {
    send_end_to(guest.connection, what, hint);
    refuse(what, hint);
  }

  /// Sends the refusal to all connected ranks.
  [[noreturn]] void refuse(const std::string& what, const std::string& hint) {
    for (Member& member : members_) {
      if (member.connection) send_end_to(*member.connection, what, hint);
    }
    throw EndedElsewhere(what, hint);
  }

  Joined welcome() {
    Joined joined;
    std::vector<std::string> known;
    std::string numbers;
    for (const Member& member : members_) {
      assert(member.peer);  // all have joined
      const auto found = std::find(known.begin(), known.end(), member.peer->node);
      joined.nodes.push_back(static_cast<int>(found - known.begin()));
      if (found == known.end()) {
        known.push_back(member.peer->node);
        joined.node_names.push_back(member.peer->name);
      }
      append_length(numbers, static_cast<std::size_t>(joined.nodes.back()));
    }
    const std::string text = pack({numbers, pack(joined.node_names)});
    for (Member& member : members_) {
      if (!member.connection) continue;
      member.connection->send(Frame{FrameKind::welcome, text}, Deadline(patience_));
      joined.others.push_back(std::move(*member.connection));
    }
    return joined;
  }

  const PeerInfo& self_;
  const MeetingPlace& place_;
  Seconds patience_;
  Listener listener_;
  std::vector<Member> members_;
  std::vector<Guest> guests_;
  std::string stranger_;  ///< the last connection that did not come from one of our ranks
};

Joined read_welcome(const std::string& text, const PeerInfo& self) {
  Joined joined;
  const auto parts = unpack(text);
  const auto names = parts && parts->size() == 2 ? unpack((*parts)[1]) : std::nullopt;
  const Error wrong("the node list of rank 0 cannot be read", "start the same program on all ranks");
  if (!names || (*parts)[0].size() != static_cast<std::size_t>(self.ranks) * packed_length_bytes) throw wrong;
  joined.node_names = *names;
  for (std::size_t at = 0; at < (*parts)[0].size(); at += packed_length_bytes) {
    const std::size_t node = read_length(std::string_view((*parts)[0]).substr(at));
    if (node >= names->size()) throw wrong;
    joined.nodes.push_back(static_cast<int>(node));
  }
  return joined;
}

/// Waits until rank 0 has welcomed all ranks. Empty if the connection was closed before a message.
std::optional<Joined> wait_for_welcome(Connection& host, const PeerInfo& self, const MeetingPlace& place,
                                       const Deadline& until, Seconds patience) {
  bool greeted = false;
  const std::string where = print_endpoint(place.host, place.port);
  while (true) {
    host.read();
    if (!greeted) {
      const Greeted answer = take_greeting(host);
      if (answer == Greeted::no) {
        throw Error(
            fmt::format("the program at {} is not rank 0: it sent {}", where, quote(std::string(first_of(host.received())))),
            "use another MASTER_PORT, or --rendezvous HOST:PORT");
      }
      greeted = answer == Greeted::yes;
    }
    if (greeted) {
      if (const std::optional<Frame> frame = host.take_frame()) {
        if (frame->kind == FrameKind::welcome) return read_welcome(frame->text, self);
        const std::vector<std::string> words = unpack(frame->text).value_or(std::vector<std::string>{});
        if (frame->kind == FrameKind::end && words.size() == 2) throw EndedElsewhere(words[0], words[1]);
        throw Error(fmt::format("the program at {} is not rank 0 of this sweep", where));
      }
    }
    if (host.is_closed()) {
      if (!greeted) return std::nullopt;
      throw EndedElsewhere(fmt::format("rank 0 at {} ended before all ranks had connected", where),
                           "see the output of rank 0");
    }
    const std::array<int, 1> sockets{host.socket()};
    if (!wait_for_any(sockets, until)) {
      throw Error(
          greeted ? fmt::format("rank 0 at {} has been silent for {} s", where, patience.value())
                  : fmt::format("the program at {} has been silent for {} s, so it is not rank 0", where, patience.value()),
          "use another MASTER_PORT, or --rendezvous HOST:PORT; or wait longer: --patience");
    }
  }
}

}  // namespace

PeerInfo peer_info_of(const LaunchedRank& rank, const std::string& run, const Environment& environment) {
  constexpr std::size_t room = 256;
  std::array<char, room> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') name = {"an unnamed host"};
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  const char* const host_id = environment("NCCL_HOSTID");
  return {.rank = rank.rank,
          .ranks = rank.ranks,
          .node = host_id != nullptr ? host_id : fmt::format("{} {}", name.data(), boot),
          .name = name.data(),
          .run = run,
          .version = fmt::format("{} ({})", version(), commit())};
}

Joined host_ranks(const PeerInfo& self, const MeetingPlace& place, Seconds patience) {
  return Host(self, place, patience).wait();
}

Joined join_host(const PeerInfo& self, const MeetingPlace& place, Seconds patience) {
  const Deadline until(patience);
  std::string why_not = "no answer";
  while (true) {
    if (std::optional<Connection> host = try_to_connect(place.host, place.port, until, why_not)) {
      // Rank 0 reports which ranks are missing. It may have started to wait later than this rank, so this rank waits longer.
      const Deadline for_all(patience + last_word * 2);
      if (host->send(greeting, for_all) && host->send(Frame{FrameKind::hello, text_of(self)}, for_all)) {
        if (std::optional<Joined> joined = wait_for_welcome(*host, self, place, for_all, patience)) {
          joined->others.push_back(std::move(*host));
          return std::move(*joined);
        }
      }
      why_not = "the connection was closed";
    }
    if (until.is_over()) {
      throw Error(fmt::format("rank {} of {} did not find rank 0 at {} within {} s: {}", self.rank, self.ranks,
                              print_endpoint(place.host, place.port), patience.value(), why_not),
                  "rank 0 listens there: see its output, check for a firewall, or wait longer: --patience");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

std::string name_ranks(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  constexpr std::size_t most = 8;
  std::string names = "ranks ";
  for (std::size_t i = 0; i < std::min(most, ranks.size()); ++i) {
    const bool is_last = i + 1 == ranks.size();
    names += fmt::format("{}{}", i == 0 ? "" : (is_last ? " and " : ", "), ranks[i]);
  }
  if (ranks.size() > most) names += fmt::format(" and {} more", ranks.size() - most);
  return names;
}

void send_end(std::vector<Connection>& to, const std::string& what, const std::string& hint) {
  const Deadline until(last_word);
  for (Connection& each : to) each.send(Frame{FrameKind::end, pack({what, hint})}, until);
}

}  // namespace ddl
