#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/quantity.hpp"

namespace ddl {

/// The point in time at which a wait ends.
class Deadline {
 public:
  explicit Deadline(Seconds from_now);
  [[nodiscard]] bool is_over() const { return std::chrono::steady_clock::now() >= at_; }
  /// The milliseconds until the deadline as an argument of poll(): rounded up, and at most `most`.
  [[nodiscard]] int milliseconds_left(int most) const;

 private:
  std::chrono::steady_clock::time_point at_;
};

enum class FrameKind : char {
  hello = 'H',    ///< sent by a rank that connects: its identity
  welcome = 'W',  ///< sent to all ranks after all have connected: the list of ranks
  word = 'T',     ///< the message of one rank
  words = 'A',    ///< the messages of all ranks
  end = 'E',      ///< the reason why all ranks must end, and a hint
};
struct Frame {
  FrameKind kind = FrameKind::word;
  std::string text{};
};

/// One end of a TCP connection that carries frames. Reading never blocks; wait_for_any waits for several connections at
/// once.
class Connection {
 public:
  /// Takes ownership of the socket. `address`: the address of the other side, for messages.
  Connection(int socket, std::string address);
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  [[nodiscard]] int socket() const { return socket_; }
  [[nodiscard]] const std::string& address() const { return address_; }
  /// Reads the received bytes. Closes the connection if the other side has closed it, or if the connection is broken.
  void read();
  [[nodiscard]] bool is_closed() const { return is_closed_; }
  /// Received bytes that follow the last taken frame.
  [[nodiscard]] std::string_view received() const { return received_; }
  void drop(std::size_t bytes) { received_.erase(0, bytes); }
  /// Returns the first frame if all of it has been received. Throws Error if the bytes are not a frame.
  [[nodiscard]] std::optional<Frame> take_frame();
  /// Returns whether everything could be sent by the deadline.
  bool send(std::string_view bytes, const Deadline& until);
  bool send(const Frame& frame, const Deadline& until);
  /// Shuts down sending. Data that was sent still arrives.
  void finish_sending() noexcept;

 private:
  void close() noexcept;

  int socket_ = -1;
  std::string address_;
  std::string received_;
  bool is_closed_ = false;
};

/// Waits until one of the sockets is readable, or until the deadline. Returns false after a timeout.
bool wait_for_any(std::span<const int> sockets, const Deadline& until);

}  // namespace ddl
