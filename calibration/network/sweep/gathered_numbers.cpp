#include "calibration/network/sweep/gathered_numbers.hpp"

#include <charconv>
#include <string>

#include <fmt/format.h>

namespace ddl {

std::vector<double> gather_numbers(Processes& processes, double mine) {
  std::vector<double> numbers;
  // Sends the shortest text that parses to the same number.
  for (const std::string& text : processes.gather(fmt::format("{}", mine))) {
    double number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace ddl
