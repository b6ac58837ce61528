#include "calibration/network/sweep/rendezvous/tcp_processes.hpp"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "calibration/network/sweep/rendezvous/packed_text.hpp"
#include "core/error.hpp"

namespace ddl {
namespace {

/// The time for which a rank waits after its last message, so that the other ranks can read the message.
constexpr Seconds to_be_read(2);

}  // namespace

TcpProcesses::TcpProcesses(const LaunchedRank& rank, const MeetingPlace& place, Seconds patience,
                           const Environment& environment)
    : self_(peer_info_of(rank, place.run, environment)),
      patience_(patience),
      joined_(self_.rank == 0 ? host_ranks(self_, place, patience) : join_host(self_, place, patience)),
      words_(joined_.others.size()) {}

TcpProcesses::~TcpProcesses() {
  for (Connection& other : joined_.others) other.finish_sending();
  if (!has_ended_) return;
  // Reads data until the other side has also closed its socket. If a socket is closed while it has
  // unread data, the data that it has sent is discarded.
  const Deadline until(to_be_read);
  try {
    while (!until.is_over()) {
      std::vector<int> open;
      for (Connection& other : joined_.others) {
        other.read();
        other.drop(other.received().size());
        if (!other.is_closed()) open.push_back(other.socket());
      }
      if (open.empty() || !wait_for_any(open, until)) return;
    }
  } catch (const std::exception&) {  // out of memory, so the connections are closed without waiting
  }
}

std::string TcpProcesses::name_of(int rank) const {
  const auto node = static_cast<std::size_t>(joined_.nodes[static_cast<std::size_t>(rank)]);
  return fmt::format("rank {} of {} on {}", rank, self_.ranks, joined_.node_names[node]);
}

void TcpProcesses::end(const std::string& what, const std::string& hint) {
  if (self_.rank == 0) end_others(what, hint);
  has_ended_ = true;
  throw EndedElsewhere(what, hint);
}

void TcpProcesses::listen_to(std::size_t other) {
  Connection& connection = joined_.others[other];
  connection.read();
  while (const std::optional<Frame> frame = connection.take_frame()) {
    if (frame->kind == FrameKind::end) {
      const std::vector<std::string> said = unpack(frame->text).value_or(std::vector<std::string>{});
      end(said.empty() ? name_of(rank_of(other)) + " ended" : said[0], said.size() < 2 ? "" : said[1]);
    }
    words_[other].push_back(frame->text);
  }
  if (connection.is_closed() && words_[other].empty()) {
    end(name_of(rank_of(other)) + " ended without a message", "see the output of that rank and of its launcher");
  }
}

void TcpProcesses::look() {
  for (std::size_t other = 0; other < joined_.others.size(); ++other) listen_to(other);
}

std::vector<std::string> TcpProcesses::gather(const std::string& text) {
  return self_.rank == 0 ? gather_at_host(text) : gather_from_host(text);
}

std::optional<std::string> TcpProcesses::next_word(std::size_t other) {
  if (words_[other].empty()) listen_to(other);
  if (words_[other].empty()) return std::nullopt;
  std::string word = std::move(words_[other].front());
  words_[other].erase(words_[other].begin());
  return word;
}

std::vector<std::string> TcpProcesses::gather_at_host(const std::string& text) {
  std::vector<std::string> said(static_cast<std::size_t>(self_.ranks));
  said[0] = text;
  const Deadline until(patience_ * 2);
  std::vector<std::size_t> waiting;
  for (std::size_t other = 0; other < joined_.others.size(); ++other) waiting.push_back(other);
  while (true) {
    std::erase_if(waiting, [&](std::size_t other) {
      std::optional<std::string> word = next_word(other);
      if (word) said[other + 1] = std::move(*word);
      return word.has_value();
    });
    if (waiting.empty()) break;
    std::vector<int> sockets, ranks;
    for (const std::size_t other : waiting) {
      sockets.push_back(joined_.others[other].socket());
      ranks.push_back(rank_of(other));
    }
    if (!wait_for_any(sockets, until)) {
      end(fmt::format("{} of {} {} been silent for {} s", name_ranks(ranks), self_.ranks, ranks.size() == 1 ? "has" : "have",
                      (patience_ * 2).value()),
          "wait longer: --patience");
    }
  }
  const Frame all{FrameKind::words, pack(said)};
  for (std::size_t other = 0; other < joined_.others.size(); ++other) {
    if (joined_.others[other].send(all, until)) continue;
    listen_to(other);  // the other side may have sent the reason before it closed the connection
    end(name_of(rank_of(other)) + " does not receive", "see the output of that rank");
  }
  return said;
}

std::vector<std::string> TcpProcesses::gather_from_host(const std::string& text) {
  // Rank 0 knows which rank is silent, so this rank gives it time to report that rank.
  const Deadline until(patience_ * 2 + to_be_read);
  Connection& host = joined_.others[0];
  const bool sent = host.send(Frame{FrameKind::word, text}, until);
  while (true) {
    if (const std::optional<std::string> word = next_word(0)) {
      const std::optional<std::vector<std::string>> said = unpack(*word);
      if (said && said->size() == static_cast<std::size_t>(self_.ranks)) return *said;
      throw Error("the messages of rank 0 cannot be read", "start the same program on all ranks");
    }
    const int socket = host.socket();
    if (!sent || !wait_for_any({&socket, 1}, until)) {
      end(fmt::format("{} has been silent for {} s", name_of(0), (patience_ * 2).value()), "wait longer: --patience");
    }
  }
}

bool TcpProcesses::end_others(const std::string& what, const std::string& hint) noexcept {
  has_ended_ = true;
  try {
    send_end(joined_.others, what, hint);
  } catch (const std::exception&) {  // the other ranks will detect the closed connection
  }
  return true;
}

void TcpProcesses::abort_all() noexcept {
  has_ended_ = true;
  for (Connection& other : joined_.others) other.finish_sending();
}

}  // namespace ddl
