#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands/serve/http.hpp"

namespace ddl {

/// The names under which a server that listens on `host` may be asked, beside addresses in figures where `host` is none of
/// this machine alone. A name that an attacker points at this machine (DNS rebinding) is none of them.
struct KnownHosts {
  std::vector<std::string> names;
  bool any_address = false;  ///< other machines may ask, by whatever address they reach this one
};
[[nodiscard]] KnownHosts known_hosts(const std::string& listens_on, const std::string& machine_name);

/// Why a request is not answered, as its answer; nothing where it is. Pages of other sites may link to the page, and ask
/// nothing else.
[[nodiscard]] std::optional<HttpAnswer> refusal_of(const HttpRequest& request, const KnownHosts& hosts);

/// What every answer says of itself: it loads nothing of other sites, and no other site may show or read it.
[[nodiscard]] HttpAnswer guarded(HttpAnswer answer);

}  // namespace ddl
