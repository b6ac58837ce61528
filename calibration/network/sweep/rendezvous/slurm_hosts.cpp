#include "calibration/network/sweep/rendezvous/slurm_hosts.hpp"

#include <algorithm>
#include <cctype>

namespace ddl {

std::optional<std::string> first_slurm_host(std::string_view list) {
  std::string host;
  while (!list.empty() && list.front() != ',') {
    if (list.front() != '[') {
      const char letter = list.front();
      if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && letter != '-' && letter != '.' && letter != '_') {
        return std::nullopt;
      }
      host += letter;
      list.remove_prefix(1);
      continue;
    }
    // Returns the first number in brackets, such as `[07-12,20]`. A name may have several brackets.
    const std::size_t close = list.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view numbers = list.substr(1, close - 1);
    const std::string_view first = numbers.substr(0, numbers.find_first_of("-,"));
    const bool are_digits =
        std::all_of(first.begin(), first.end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
    if (first.empty() || !are_digits) return std::nullopt;
    host += first;
    list.remove_prefix(close + 1);
  }
  if (host.empty()) return std::nullopt;
  return host;
}

}  // namespace ddl
