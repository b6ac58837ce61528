#include "calibration/network/sweep/rendezvous/connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "calibration/network/sweep/rendezvous/packed_text.hpp"
#include "core/error.hpp"

namespace ddl {
namespace {

constexpr std::size_t head_bytes = 1 + packed_length_bytes;
/// Maximum number of bytes of a frame. A larger frame does not come from a rank, because even the
/// messages of a million ranks are shorter.
constexpr std::size_t largest_frame = std::size_t{64} << 20U;

}  // namespace

Deadline::Deadline(Seconds from_now)
    : at_(std::chrono::steady_clock::now() +
          std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(from_now.value()))) {
}

int Deadline::milliseconds_left(int most) const {
  const std::chrono::duration<double, std::milli> left = at_ - std::chrono::steady_clock::now();
  return static_cast<int>(std::clamp(std::ceil(left.count()), 0.0, static_cast<double>(most)));
}

Connection::Connection(int socket, std::string address) : socket_(socket), address_(std::move(address)) {}

Connection::Connection(Connection&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      address_(std::move(other.address_)),
      received_(std::move(other.received_)),
      is_closed_(other.is_closed_) {}

Connection& Connection::operator=(Connection&& other) noexcept {
  if (this == &other) return *this;
  close();
  socket_ = std::exchange(other.socket_, -1);
  address_ = std::move(other.address_);
  received_ = std::move(other.received_);
  is_closed_ = other.is_closed_;
  return *this;
}

Connection::~Connection() { close(); }

void Connection::close() noexcept {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void Connection::read() {
  constexpr std::size_t room = 65'536;
  std::vector<char> bytes(room);
  while (!is_closed_) {
    const ssize_t got = recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) {
      received_.append(bytes.data(), static_cast<std::size_t>(got));
      if (static_cast<std::size_t>(got) < room) return;
      if (received_.size() > 2 * largest_frame) return;  // the rest is read after this data has been taken
    } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return;
    } else if (got == 0 || errno != EINTR) {
      is_closed_ = true;
    }
  }
}

std::optional<Frame> Connection::take_frame() {
  if (received_.size() < head_bytes) return std::nullopt;
  const std::size_t length = read_length(std::string_view(received_).substr(1));
  if (length > largest_frame) throw Error(fmt::format("{} does not belong to this sweep", address_));
  if (received_.size() < head_bytes + length) return std::nullopt;
  Frame frame{static_cast<FrameKind>(received_.front()), received_.substr(head_bytes, length)};
  received_.erase(0, head_bytes + length);
  return frame;
}

bool Connection::send(std::string_view bytes, const Deadline& until) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
    constexpr int look_again = 100;
    pollfd one{.fd = socket_, .events = POLLOUT, .revents = 0};
    static_cast<void>(poll(&one, 1, until.milliseconds_left(look_again)));
    if (until.is_over()) return false;
  }
  return true;
}

bool Connection::send(const Frame& frame, const Deadline& until) {
  std::string bytes(1, static_cast<char>(frame.kind));
  append_length(bytes, frame.text.size());
  return send(bytes + frame.text, until);
}

void Connection::finish_sending() noexcept {
  if (socket_ >= 0) static_cast<void>(shutdown(socket_, SHUT_WR));
}

bool wait_for_any(std::span<const int> sockets, const Deadline& until) {
  std::vector<pollfd> all;
  for (const int socket : sockets) all.push_back({.fd = socket, .events = POLLIN, .revents = 0});
  constexpr int look_again = 1000;
  do {
    if (poll(all.data(), all.size(), until.milliseconds_left(look_again)) > 0) return true;
  } while (!until.is_over());
  return false;
}

}  // namespace ddl
