#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/network/sweep/rendezvous/connection.hpp"

namespace ddl {

/// A listening port of this machine: over both IPv6 and IPv4, if the machine supports both.
class Listener {
 public:
  /// Listens on all addresses, or only on loopback if `host` is `localhost` or a loopback address. Port 0 selects a free
  /// port. Throws Error if the port is not available.
  Listener(const std::string& host, int port);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  [[nodiscard]] const std::vector<int>& sockets() const { return sockets_; }
  [[nodiscard]] int port() const { return port_; }
  /// The connections that have arrived since the last call.
  [[nodiscard]] std::vector<Connection> accept();

 private:
  void close_all() noexcept;

  std::vector<int> sockets_;
  int port_ = 0;
};

/// Connects to the first address of the host that answers. If none answers, returns empty and the reason. Throws Error if
/// the host is unknown. If the host is only temporarily unknown, or does not answer in time, nothing is thrown.
[[nodiscard]] std::optional<Connection> try_to_connect(const std::string& host, int port, const Deadline& until,
                                                       std::string& why_not);

/// Returns the address as text: `host:29500`, `[fd00::1]:29500`.
[[nodiscard]] std::string print_endpoint(const std::string& host, int port);

}  // namespace ddl
