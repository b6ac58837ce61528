#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands/serve/http.hpp"

namespace ddl {

/// The host names that a server on `host` accepts in requests. If `host` is not a loopback address, numeric addresses are
/// accepted, too. Names that an attacker points at this machine (DNS rebinding) are refused.
struct KnownHosts {
  std::vector<std::string> names;
  bool any_address = false;  ///< whether other machines may connect, through any address of this machine
};
[[nodiscard]] KnownHosts known_hosts(const std::string& listens_on, const std::string& machine_name);

/// Returns the answer that refuses a request; empty if the request is accepted. Pages of other
/// sites may link to this server's page, but may not send any other request.
[[nodiscard]] std::optional<HttpAnswer> refusal_of(const HttpRequest& request, const KnownHosts& hosts);

/// Adds the security headers of every answer. With these headers, the page loads nothing from other sites, and no other site
/// may embed or read the page.
[[nodiscard]] HttpAnswer guarded(HttpAnswer answer);

}  // namespace ddl
