#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/commands/serve/http.hpp"

namespace ddl {

/// What a server holds back of clients that are slow, many or endless.
struct HttpLimits {
  double request_seconds = 10;       ///< for the whole of a request, however slowly it comes, and for the whole of an answer
  std::size_t header_bytes = 16384;  ///< of the first line and all headers
  std::size_t body_bytes = 1024;     ///< nothing here has a body
  std::size_t connections = 256;     ///< at a time; further ones wait
  std::size_t waiting = 32;          ///< questions that no worker has begun; further ones are refused
  std::size_t workers = 2;           ///< threads
};

/// Listens on one address and answers there. One thread speaks to all clients, so that slow ones cost a connection and no
/// thread; others find out what takes longer.
class HttpServer {
 public:
  struct Handlers {
    /// On the thread that speaks to the clients: what is known at once, or nothing.
    std::function<std::optional<HttpAnswer>(const HttpRequest&)> at_once;
    /// On one of several threads. The second is set when the client has gone, and may be then.
    std::function<HttpAnswer(const HttpRequest&, const std::atomic<bool>&)> later;
  };

  /// Begins to listen. `port` 0 takes one that is free. Throws Error where the address is not there, or is taken, or where
  /// the program was built without a server.
  HttpServer(const std::string& host, int port, Handlers handlers, const HttpLimits& limits = {});
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  [[nodiscard]] int port() const;
  /// Answers until Ctrl-C or SIGTERM, then asks what is under way to end (Interrupt), and waits for that.
  void run();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace ddl
