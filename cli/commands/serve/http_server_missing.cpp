#include "cli/commands/serve/http_server.hpp"
#include "core/error.hpp"

namespace ddl {

// This file replaces http_server.cpp if the build has no libevent.

class HttpServer::State {};

HttpServer::HttpServer(const std::string& /*host*/, int /*port*/, Handlers /*handlers*/, const HttpLimits& /*limits*/) {
  throw Error("this ddl-oracle was built without libevent, which 'serve' needs",
              "install it (on Debian: apt-get install libevent-dev) and build again");
}

HttpServer::~HttpServer() = default;

int HttpServer::port() const { return 0; }

void HttpServer::run() {}

}  // namespace ddl
