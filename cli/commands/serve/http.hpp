#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddl {

/// A request as it was sent: nothing in it is decoded or trusted.
struct HttpRequest {
  std::string method;   ///< `GET`
  std::string path;     ///< `/answer`
  std::string query{};  ///< everything after the first `?`
  std::vector<std::pair<std::string, std::string>> headers{};

  /// Returns the value of the first header with this name, ignoring case; empty if there is no such header.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

struct HttpAnswer {
  int status = 200;
  std::string type{};  ///< `text/html; charset=utf-8`
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};  ///< headers other than type and length
};

/// Returns the keys and values of a query in their order. `+` and percent escapes are decoded;
/// invalid escapes stay as they are.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> decoded_query(std::string_view query);
/// Encodes a value: the inverse of decoded_query().
[[nodiscard]] std::string encoded_query_value(std::string_view value);

}  // namespace ddl
