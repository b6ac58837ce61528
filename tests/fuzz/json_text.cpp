// Fuzzes any JSON: a parsed value is written, and parsed back to the same value. Every key has a position.

#include <memory>

#include "core/json_source.hpp"
#include "tests/fuzz/fuzzer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto source =
      ddl::result_of([&] { return std::make_shared<ddl::JsonSource>(ddl::text_of(data, size), "any.json", "a hint"); });
  if (!source) return 0;
  const std::string written = (*source)->root().dump();
  const auto again = ddl::result_of([&] { return std::make_shared<ddl::JsonSource>(written, "written.json", "a hint"); });
  ddl::require(again && (*again)->root() == (*source)->root(), "a document is not read as it was written");
  static_cast<void>((*source)->error("best/degrees/data", "a message"));
  static_cast<void>((*source)->error_at_key("no/such/key", "a message"));
  if (!(*source)->root().is_object()) return 0;
  for (const auto& [key, value] : (*source)->root().items()) static_cast<void>((*source)->error_at_key(key, "a message"));
  return 0;
}
