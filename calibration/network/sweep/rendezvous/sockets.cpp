#include "calibration/network/sweep/rendezvous/sockets.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

/// Whether a name refers to the host itself. A host's own name may resolve to loopback on that host, but not on others.
bool is_loop(std::string_view host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

int look_up(const std::string& host, int port, Addresses& found) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int status = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  found = Addresses(status == 0 ? list : nullptr, [](addrinfo* all) {
    if (all != nullptr) freeaddrinfo(all);
  });
  return status;
}

std::string print_address(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &four.sin_addr, text.data(), text.size());
    return print_endpoint(text.data(), ntohs(four.sin_port));
  }
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  inet_ntop(AF_INET6, &six.sin6_addr, text.data(), text.size());
  constexpr std::string_view four_in_six = "::ffff:";
  std::string_view name(text.data());
  if (name.starts_with(four_in_six)) name.remove_prefix(four_in_six.size());
  return print_endpoint(std::string(name), ntohs(six.sin6_port));
}

void set(int socket, int level, int option, int value) {
  static_cast<void>(setsockopt(socket, level, option, &value, sizeof value));
}

/// Configures a socket to send short messages immediately, and to detect a machine that is gone.
void prepare(int socket) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  constexpr int idle_seconds = 15, between_seconds = 5, probes = 3;
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, idle_seconds);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, between_seconds);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, probes);
}

/// Returns a listening socket, or -1 with errno.
int listen_on(const sockaddr* address, socklen_t length, bool both) {
  const int socket = ::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return -1;
  set(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  if (address->sa_family == AF_INET6) set(socket, IPPROTO_IPV6, IPV6_V6ONLY, both ? 0 : 1);
  constexpr int queue = 4096;
  if (bind(socket, address, length) == 0 && listen(socket, queue) == 0) return socket;
  const int why = errno;
  close(socket);
  errno = why;
  return -1;
}

int port_of(int socket) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length) != 0) return 0;
  return ntohs(own.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(own).sin_port
                                        : reinterpret_cast<sockaddr_in6&>(own).sin6_port);
}

/// Whether the socket is connected to itself. This can happen on an ephemeral port on which no program listens.
bool is_connected_to_itself(int socket) {
  sockaddr_storage own{}, other{};
  socklen_t own_length = sizeof own, other_length = sizeof other;
  return getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_length) == 0 &&
         getpeername(socket, reinterpret_cast<sockaddr*>(&other), &other_length) == 0 && own_length == other_length &&
         std::memcmp(&own, &other, own_length) == 0;
}

/// How much an error of a connection attempt tells the user about the other side; larger is more. An unsupported type of
/// address tells the least, because a host may have addresses of several types.
int told_by(int problem) {
  if (problem == 0) return 0;
  if (problem == EAFNOSUPPORT || problem == EADDRNOTAVAIL || problem == ENETUNREACH) return 1;
  return problem == ECONNREFUSED ? 2 : 3;
}

/// Connects to an address. Returns zero, or the errno.
int connect_by(int socket, const addrinfo& to, const Deadline& until) {
  if (connect(socket, to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  constexpr int longest_try = 5000;
  pollfd one{.fd = socket, .events = POLLOUT, .revents = 0};
  if (poll(&one, 1, until.milliseconds_left(longest_try)) <= 0) return ETIMEDOUT;
  int status = 0;
  socklen_t length = sizeof status;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &status, &length) == 0 ? status : errno;
}

}  // namespace

std::string print_endpoint(const std::string& host, int port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

Listener::Listener(const std::string& host, int port) : port_(port) {
  int why = 0;
  const auto add = [&](const sockaddr* address, socklen_t length, bool both) {
    const int socket = listen_on(address, length, both);
    if (socket < 0) {
      if (why == 0 || errno == EADDRINUSE) why = errno;
      return;
    }
    sockets_.push_back(socket);
    if (port_ == 0) port_ = port_of(socket);
  };
  if (is_loop(host)) {
    Addresses found(nullptr, nullptr);
    const int status = look_up(host, port, found);
    if (status != 0) throw Error(fmt::format("the host {} cannot be resolved: {}", quote(host), gai_strerror(status)));
    for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
      if (port == 0 && !sockets_.empty()) break;  // other addresses would get a different port
      add(each->ai_addr, each->ai_addrlen, false);
    }
  } else {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_addr = in6addr_any;
    six.sin6_port = htons(static_cast<std::uint16_t>(port));
    add(reinterpret_cast<const sockaddr*>(&six), sizeof six, true);
    if (sockets_.empty() && why != EADDRINUSE) {  // this machine has no IPv6
      sockaddr_in four{};
      four.sin_family = AF_INET;
      four.sin_addr.s_addr = htonl(INADDR_ANY);
      four.sin_port = htons(static_cast<std::uint16_t>(port));
      add(reinterpret_cast<const sockaddr*>(&four), sizeof four, false);
    }
  }
  if (sockets_.empty() || why == EADDRINUSE) {
    close_all();
    throw Error(fmt::format("rank 0 cannot listen at {}: {}", print_endpoint(host, port), std::strerror(why)),
                why == EADDRINUSE ? "another program uses this port: use another MASTER_PORT, or --rendezvous HOST:PORT"
                                  : "use another MASTER_PORT, or --rendezvous HOST:PORT");
  }
}

Listener::~Listener() { close_all(); }

void Listener::close_all() noexcept {
  for (const int socket : sockets_) close(socket);
  sockets_.clear();
}

std::vector<Connection> Listener::accept() {
  std::vector<Connection> fresh;
  for (const int listening : sockets_) {
    while (true) {
      sockaddr_storage from{};
      socklen_t length = sizeof from;
      const int socket = accept4(listening, reinterpret_cast<sockaddr*>(&from), &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (socket >= 0) {
        prepare(socket);
        fresh.emplace_back(socket, print_address(from));
        continue;
      }
      if (errno == EMFILE || errno == ENFILE) {
        throw Error(fmt::format("rank 0 cannot accept more ranks: {}", std::strerror(errno)),
                    "raise the limit of open files: ulimit -n");
      }
      if (errno != EINTR && errno != ECONNABORTED) break;
    }
  }
  return fresh;
}

std::optional<Connection> try_to_connect(const std::string& host, int port, const Deadline& until, std::string& why_not) {
  Addresses found(nullptr, nullptr);
  const int status = look_up(host, port, found);
  if (status == EAI_AGAIN) {
    why_not = gai_strerror(status);
    return std::nullopt;
  }
  if (status != 0) {
    throw Error(fmt::format("the host {} cannot be resolved: {}", quote(host), gai_strerror(status)),
                "MASTER_ADDR or --rendezvous must be the host of rank 0, resolvable on all other hosts");
  }
  int worst = 0;
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
    const int socket = ::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) {
      if (told_by(errno) >= told_by(worst)) worst = errno;
      continue;
    }
    Connection connection(socket, print_endpoint(host, port));
    const int problem = connect_by(socket, *each, until);
    if (problem == 0 && !is_connected_to_itself(socket)) {
      prepare(socket);
      return connection;
    }
    const int seen = problem == 0 ? ECONNREFUSED : problem;
    if (told_by(seen) >= told_by(worst)) worst = seen;
  }
  if (worst != 0) why_not = std::strerror(worst);
  return std::nullopt;
}

}  // namespace ddl
