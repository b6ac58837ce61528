// Fuzzes a quantity with its unit: a parsed quantity is printed, and parsed back to the same quantity.

#include <cmath>

#include "core/units.hpp"
#include "tests/fuzz/fuzzer.hpp"

namespace ddl {
namespace {

template <class Q>
void read(const std::string& text) {
  UnitProblem problem;
  const std::optional<Q> value = parse_quantity<Q>(text, problem);
  require(value.has_value() == problem.message.empty(), "neither a quantity nor a problem");
  if (!value) return;
  require(std::isfinite(value->value()) && value->value() >= 0, "a quantity that is none");
  require(parse_quantity<Q>(print_quantity(*value), problem) == value, "a quantity is read back as another one");
  static_cast<void>(humanize(*value));
}

}  // namespace
}  // namespace ddl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = ddl::text_of(data, size);
  ddl::read<ddl::Bytes>(text);
  ddl::read<ddl::Seconds>(text);
  ddl::read<ddl::Bandwidth>(text);
  ddl::read<ddl::FlopRate>(text);
  return 0;
}
