// Any file of gzip: its content has at most the requested size.

#include "core/gzip.hpp"
#include "tests/fuzz/fuzzer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t most = 1 << 16;
  const auto text = ddl::result_of([&] { return ddl::gunzip(ddl::text_of(data, size), most, "any.gz"); });
  ddl::require(!text || text->size() <= most, "a content longer than its limit");
  return 0;
}
