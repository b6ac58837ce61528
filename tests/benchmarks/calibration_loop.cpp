// A fixed amount of work, for `./dev bench`. User times of commands are divided by the user time of this program, so that a
// baseline from one machine is meaningful on another machine. The program does what `ddl-oracle` mostly does: arithmetic on
// doubles, small allocations, look-ups in trees, and text. A change of this program invalidates every baseline.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

int main() {
  std::uint64_t state = 1;
  const auto random = [&state] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;  // Knuth, MMIX
    return static_cast<std::uint32_t>(state >> 33U);
  };
  double sum = 0;
  for (int round = 0; round < 48; ++round) {
    std::map<std::string, std::vector<double>> table;
    for (int i = 0; i < 10'000; ++i) {
      std::vector<double>& row = table["layer" + std::to_string(random() % 2'000)];
      for (int j = 0; j < 8; ++j) row.push_back(std::sqrt(static_cast<double>(random() % 1'000)));
    }
    for (const auto& [name, row] : table) {
      double product = static_cast<double>(name.size());
      for (const double value : row) product = product * 0.5 + std::log1p(value);
      sum += product;
    }
    for (int i = 0; i < 1'500'000; ++i) sum += static_cast<double>(random() % 7) / (1.0 + static_cast<double>(i));
  }
  std::printf("%.6f\n", sum);
}
