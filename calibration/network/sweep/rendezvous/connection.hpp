#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/quantity.hpp"

namespace ddl {

/// Until when something is waited for.
class Deadline {
 public:
  explicit Deadline(Seconds from_now);
  [[nodiscard]] bool is_over() const { return std::chrono::steady_clock::now() >= at_; }
  /// As poll() wants it; rounded up, and at most `most`.
  [[nodiscard]] int milliseconds_left(int most) const;

 private:
  std::chrono::steady_clock::time_point at_;
};

enum class FrameKind : char {
  hello = 'H',    ///< of a rank that comes: who it is
  welcome = 'W',  ///< to all, when all have come: who is where
  word = 'T',     ///< what one rank says
  words = 'A',    ///< what all ranks say
  end = 'E',      ///< why all must end, and a hint
};
struct Frame {
  FrameKind kind = FrameKind::word;
  std::string text{};
};

/// One end of a TCP connection, over which frames go. Reading never waits; who waits does it for several at once.
class Connection {
 public:
  /// Owns the socket. `address` is the other side's, for messages.
  Connection(int socket, std::string address);
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  [[nodiscard]] int socket() const { return socket_; }
  [[nodiscard]] const std::string& address() const { return address_; }
  /// Takes in what has come. The connection is closed where the other side closed it, or it broke.
  void read();
  [[nodiscard]] bool is_closed() const { return is_closed_; }
  /// What has come and is not part of a frame that was taken.
  [[nodiscard]] std::string_view received() const { return received_; }
  void drop(std::size_t bytes) { received_.erase(0, bytes); }
  /// The first frame, where it has come as a whole. An Error where what comes is none.
  [[nodiscard]] std::optional<Frame> take_frame();
  /// Whether all of it could be handed over by then.
  bool send(std::string_view bytes, const Deadline& until);
  bool send(const Frame& frame, const Deadline& until);
  /// Says that nothing more will be sent; what was sent still arrives.
  void finish_sending() noexcept;

 private:
  void close() noexcept;

  int socket_ = -1;
  std::string address_;
  std::string received_;
  bool is_closed_ = false;
};

/// Waits until one of the sockets has something to read, or until then. False where nothing came.
bool wait_for_any(std::span<const int> sockets, const Deadline& until);

}  // namespace ddl
