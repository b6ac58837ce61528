#include "calibration/network/sweep/processor_wait.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "calibration/network/sweep/gathered_numbers.hpp"

namespace ddl {
namespace {

Seconds now() { return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count()); }

/// Waiting below this share of the time is ignored.
constexpr double least_share = 0.05;

std::optional<ProcessorTurns> turns_until_now() {
  std::ifstream file("/proc/self/schedstat");
  std::string line;
  std::getline(file, line);
  return parse_processor_turns(line);
}

}  // namespace

std::optional<ProcessorTurns> parse_processor_turns(std::string_view schedstat) {
  const char* at = schedstat.data();
  const char* const end = at + schedstat.size();
  std::array<double, 3> numbers{};
  for (double& number : numbers) {
    while (at != end && *at == ' ') ++at;
    const auto [next, problem] = std::from_chars(at, end, number);
    if (problem != std::errc{} || number < 0) return std::nullopt;
    at = next;
  }
  constexpr double nanosecond = 1e-9;
  return ProcessorTurns{Seconds(numbers[1] * nanosecond), numbers[2]};
}

ProcessorWait::ProcessorWait() : before_(turns_until_now()), begin_(now()) {}

Seconds ProcessorWait::longest(Processes& processes) const {
  const std::optional<ProcessorTurns> after = turns_until_now();
  Seconds mine{};
  if (before_ && after) {
    const Seconds waited = after->waited - before_->waited;
    if (waited > least_share * (now() - begin_)) mine = waited / std::max(1.0, after->turns - before_->turns);
  }
  const std::vector<double> all = gather_numbers(processes, mine.value());
  return Seconds(*std::max_element(all.begin(), all.end()));
}

}  // namespace ddl
