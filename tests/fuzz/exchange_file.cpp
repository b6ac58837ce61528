// Output of a communication benchmark: what was read of it has times above zero, and facts that do not contradict each
// other.

#include "calibration/communication/exchange_file.hpp"

#include <cmath>

#include "tests/fuzz/fuzzer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const ddl::ExchangeFacts& otherwise :
       {ddl::ExchangeFacts{}, ddl::ExchangeFacts{.operation = ddl::Collective::allreduce, .ranks = 8, .nodes = 2}}) {
    std::vector<std::string> warnings;
    const auto series = ddl::result_of([&] {
      return ddl::parse_exchanges(ddl::text_of(data, size), "any.txt", {{}, otherwise}, warnings);
    });
    if (!series) continue;
    for (const ddl::ExchangeSeries& each : *series) {
      ddl::require(!each.rows.empty(), "a series without rows");
      ddl::require(!each.ranks || *each.ranks > 1, "a single rank");
      ddl::require(!each.ranks || !each.nodes || *each.nodes <= *each.ranks, "more nodes than ranks");
      for (const ddl::MeasuredExchange& row : each.rows) {
        ddl::require(std::isfinite(row.time.value()) && row.time.value() > 0, "a time that is none");
        ddl::require(std::isfinite(row.message.value()) && row.message.value() > 0, "a size that is none");
      }
    }
  }
  return 0;
}
