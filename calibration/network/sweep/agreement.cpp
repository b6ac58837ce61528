#include "calibration/network/sweep/agreement.hpp"

#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace ddl {

void do_or_agree(Processes& processes, const std::function<void()>& work) {
  std::string problem, hint;
  const auto failed = [&](const char* what) { problem = *what == '\0' ? "an unknown failure" : what; };
  try {
    work();
  } catch (const Error& error) {
    failed(error.what());
    hint = error.hint();
  } catch (const std::exception& error) {
    failed(error.what());
  }
  const std::vector<std::string> problems = processes.gather(problem);
  const std::vector<std::string> hints = processes.gather(hint);
  for (std::size_t rank = 0; rank < problems.size(); ++rank) {
    if (!problems[rank].empty()) throw AgreedError(fmt::format("rank {}: {}", rank, problems[rank]), hints[rank]);
  }
}

}  // namespace ddl
