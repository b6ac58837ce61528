#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/commands/serve/http.hpp"

namespace ddl {

/// The limits that protect a server against slow clients, many clients and endless requests.
struct HttpLimits {
  double request_seconds = 10;       ///< time limit for the complete request, and for the complete answer
  std::size_t header_bytes = 16384;  ///< maximum size of the first line and all headers
  std::size_t body_bytes = 1024;     ///< maximum size of a request's body; no request needs a body
  std::size_t connections = 256;     ///< maximum of simultaneous connections; further connections wait
  std::size_t pending = 32;          ///< maximum of requests that are being answered; further requests are refused
};

/// Listens on one address and answers requests. A single thread handles all clients, so that slow clients occupy a
/// connection but no thread; an answer that takes longer is computed on a thread of its own.
class HttpServer {
 public:
  struct Handlers {
    /// Called on the clients' thread. Returns an answer that is available immediately, or empty.
    std::function<std::optional<HttpAnswer>(const HttpRequest&)> at_once;
    /// Called on a thread of its own. The flag is set when the client has disconnected or the server ends; it may already
    /// be set at the call.
    std::function<HttpAnswer(const HttpRequest&, const std::atomic<bool>&)> later;
  };

  /// Starts to listen. `port` 0 selects a free port. Throws Error if the address does not exist or is in use, or if the
  /// program was built without a server.
  HttpServer(const std::string& host, int port, Handlers handlers, const HttpLimits& limits = {});
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  [[nodiscard]] int port() const;
  /// Serves requests until Ctrl-C or SIGTERM. Then asks the threads to end (Interrupt), and waits until they have ended.
  void run();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace ddl
