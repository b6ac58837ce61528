#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/network/sweep/rendezvous/connection.hpp"

namespace ddl {

/// A port of this machine that others connect to: over IPv6 and IPv4 at once, where the machine has both.
class Listener {
 public:
  /// On all of its addresses; where the host is `localhost` or a loop's address, on those of the loop alone. Port 0 is one
  /// that is free. An Error where it is not to be had.
  Listener(const std::string& host, int port);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  [[nodiscard]] const std::vector<int>& sockets() const { return sockets_; }
  [[nodiscard]] int port() const { return port_; }
  /// Those that have connected since.
  [[nodiscard]] std::vector<Connection> accept();

 private:
  void close_all() noexcept;

  std::vector<int> sockets_;
  int port_ = 0;
};

/// The first address of the host that answers, or nothing and why. An Error where no such host is known; one that may be
/// known later, or does not answer by then, is no Error.
[[nodiscard]] std::optional<Connection> try_to_connect(const std::string& host, int port, const Deadline& until,
                                                       std::string& why_not);

/// `host:29500`, `[fd00::1]:29500`.
[[nodiscard]] std::string print_endpoint(const std::string& host, int port);

}  // namespace ddl
