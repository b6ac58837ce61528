#include "cli/commands/serve/guard.hpp"

#include <string_view>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include "core/find.hpp"
#include "core/lower_case.hpp"

namespace ddl {
namespace {

constexpr std::string_view plain = "text/plain; charset=utf-8";

/// Returns the host name in a Host header: `localhost` for `LocalHost:8080`, `::1` for `[::1]:8080`.
std::string name_in(std::string_view host) {
  if (host.starts_with('[')) return lower_case(host.substr(1, host.find(']') - 1));
  return lower_case(host.substr(0, host.rfind(':')));
}

bool is_address(const std::string& name) {
  in6_addr buffer{};
  return inet_pton(AF_INET, name.c_str(), &buffer) == 1 || inet_pton(AF_INET6, name.c_str(), &buffer) == 1;
}

bool is_loopback(const std::string& name) {
  return name == "localhost" || name == "::1" || (is_address(name) && name.starts_with("127."));
}

HttpAnswer refusal(int status, std::string_view why) { return {status, std::string(plain), fmt::format("{}\n", why), {}}; }

}  // namespace

KnownHosts known_hosts(const std::string& listens_on, const std::string& machine_name) {
  KnownHosts hosts{{"localhost", "127.0.0.1", "::1", lower_case(listens_on)}, !is_loopback(lower_case(listens_on))};
  if (hosts.any_address && !machine_name.empty()) hosts.names.push_back(lower_case(machine_name));
  return hosts;
}

std::optional<HttpAnswer> refusal_of(const HttpRequest& request, const KnownHosts& hosts) {
  if (request.method != "GET" && request.method != "HEAD") {
    HttpAnswer answer = refusal(405, "only GET and HEAD are answered");
    answer.headers.emplace_back("Allow", "GET, HEAD");
    return answer;
  }
  const std::string_view host = request.header("Host");
  const std::string name = name_in(host);
  const bool known = contains(hosts.names, name);
  if (!known && !(hosts.any_address && is_address(name)))
    return refusal(421, "this server has another name: use the address that 'ddl-oracle serve' printed");
  // Browsers send the origin of a request; other programs do not.
  const std::string_view origin = request.header("Origin");
  const bool own_origin =
      origin.empty() || origin == fmt::format("http://{}", host) || origin == fmt::format("https://{}", host);
  const std::string_view site = request.header("Sec-Fetch-Site");
  const bool own_site = site.empty() || site == "same-origin" || site == "none";
  const bool is_link = (request.path == "/" || request.path == "/compare") &&
                       request.header("Sec-Fetch-Mode") == "navigate" && request.header("Sec-Fetch-Dest") == "document";
  if (!own_origin || (!own_site && !is_link))
    return refusal(403, "pages of other sites may not send requests to this server");
  return std::nullopt;
}

HttpAnswer guarded(HttpAnswer answer) {
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"Content-Security-Policy",
            "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri "
            "'none'; "
            "frame-ancestors 'none'"},
           {"X-Content-Type-Options", "nosniff"},
           {"X-Frame-Options", "DENY"},
           {"Referrer-Policy", "no-referrer"},
           {"Cross-Origin-Resource-Policy", "same-origin"},
           {"Cross-Origin-Opener-Policy", "same-origin"},
           {"Cache-Control", "no-store"}})
    answer.headers.emplace_back(name, value);
  return answer;
}

}  // namespace ddl
