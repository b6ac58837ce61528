#include "estimator/memory/caching_allocator.hpp"

#include <vector>

#include "tests/catch.hpp"

namespace {

using namespace ddl;

constexpr double kib = 1024;
constexpr double mib = 1024 * kib;

CachingAllocator cuda() { return CachingAllocator(CachingAllocator::Rounding::cuda); }

TEST_CASE("sizes are rounded up to 512 bytes and segments to 2 MiB, 20 MiB or multiples of 2 MiB") {
  // The expected sizes follow from the constants of CUDACachingAllocator.cpp.
  struct Case {
    double asked, allocated, reserved;
  };
  for (const Case& c : {Case{1, 512, 2 * mib}, Case{513, 1024, 2 * mib}, Case{mib, mib, 2 * mib},
                        Case{mib + 1, mib + 512, 20 * mib}, Case{10 * mib - 512, 10 * mib - 512, 20 * mib},
                        Case{10 * mib, 10 * mib, 10 * mib}, Case{30 * mib + 1, 30 * mib + 512, 32 * mib},
                        // At most 1 MiB is left, so the rest stays with the block.
                        Case{31 * mib, 32 * mib, 32 * mib}}) {
    CachingAllocator allocator = cuda();
    static_cast<void>(allocator.allocate(Bytes(c.asked)));
    INFO(c.asked);
    CHECK(allocator.allocated().value() == c.allocated);
    CHECK(allocator.reserved().value() == c.reserved);
  }
}

TEST_CASE("small requests share a segment, and so do requests below 10 MiB") {
  CachingAllocator allocator = cuda();
  for (int i = 0; i < 4; ++i) static_cast<void>(allocator.allocate(Bytes(512 * kib)));
  CHECK(allocator.reserved().value() == 2 * mib);
  static_cast<void>(allocator.allocate(Bytes(1)));
  CHECK(allocator.reserved().value() == 4 * mib);
  for (int i = 0; i < 4; ++i) static_cast<void>(allocator.allocate(Bytes(5 * mib)));
  CHECK(allocator.reserved().value() == 24 * mib);
}

TEST_CASE("freed blocks are reused, the smallest sufficient one first") {
  CachingAllocator allocator = cuda();
  const std::size_t large = allocator.allocate(Bytes(40 * mib));
  const std::size_t middle = allocator.allocate(Bytes(20 * mib));
  allocator.free(large);
  allocator.free(middle);
  CHECK(allocator.allocated().value() == 0);
  CHECK(allocator.reserved().value() == 60 * mib);
  static_cast<void>(allocator.allocate(Bytes(18 * mib)));  // of the segment of 20 MiB
  static_cast<void>(allocator.allocate(Bytes(40 * mib)));
  CHECK(allocator.reserved().value() == 60 * mib);
  CHECK(allocator.peak_allocated().value() == 60 * mib);
}

TEST_CASE("adjacent free blocks are merged, whichever is freed first") {
  for (const std::vector<std::size_t>& order :
       {std::vector<std::size_t>{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    CachingAllocator allocator = cuda();
    std::vector<std::size_t> blocks;
    // The blocks of 4, 6 and 8 MiB are in one segment of 20 MiB.
    for (const double size : {4.0, 6.0, 8.0}) blocks.push_back(allocator.allocate(Bytes(size * mib)));
    for (const std::size_t i : order) allocator.free(blocks[i]);
    static_cast<void>(allocator.allocate(Bytes(20 * mib)));
    CHECK(allocator.reserved().value() == 20 * mib);
  }
}

TEST_CASE("a free block between two used blocks cannot serve a larger request") {
  CachingAllocator allocator = cuda();
  std::vector<std::size_t> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(allocator.allocate(Bytes(5 * mib)));
  allocator.free(blocks[0]);
  allocator.free(blocks[2]);
  // 10 MiB are free in two separate blocks.
  static_cast<void>(allocator.allocate(Bytes(9 * mib)));
  CHECK(allocator.allocated().value() == 19 * mib);
  CHECK(allocator.reserved().value() == 40 * mib);
}

TEST_CASE("if the device is full, free segments are returned to the device") {
  CachingAllocator allocator(CachingAllocator::Rounding::cuda, Bytes(64 * mib));
  const std::size_t first = allocator.allocate(Bytes(40 * mib));
  allocator.free(first);
  static_cast<void>(allocator.allocate(Bytes(50 * mib)));
  CHECK(allocator.fits());
  CHECK(allocator.reserved().value() == 50 * mib);
  CHECK(allocator.peak_reserved().value() == 50 * mib);
  static_cast<void>(allocator.allocate(Bytes(16 * mib)));
  CHECK_FALSE(allocator.fits());
}

TEST_CASE("memory that is reserved but not allocated consists of pieces of used segments, and of free segments") {
  CachingAllocator allocator = cuda();
  const std::size_t whole = allocator.allocate(Bytes(40 * mib));
  const std::size_t piece = allocator.allocate(Bytes(4 * mib));
  static_cast<void>(allocator.allocate(Bytes(6 * mib)));
  allocator.free(piece);
  allocator.free(whole);
  // The 40 MiB that are free are too small for 50 MiB.
  static_cast<void>(allocator.allocate(Bytes(50 * mib)));
  CHECK(allocator.peak_reserved().value() == 110 * mib);
  const CachingAllocator::Reserved most = allocator.at_peak_reserved();
  CHECK(most.allocated.value() == 56 * mib);
  CHECK(most.pieces.value() == 14 * mib);  // of the 20 MiB of a segment that holds 6 MiB
  CHECK(most.segments.value() == 40 * mib);
}

TEST_CASE("a processor's memory is the sum of the requests") {
  CachingAllocator allocator(CachingAllocator::Rounding::none);
  const std::size_t block = allocator.allocate(Bytes(100));
  static_cast<void>(allocator.allocate(Bytes(1)));
  allocator.free(block);
  CHECK(allocator.peak_allocated().value() == 101);
  CHECK(allocator.reserved().value() == 1);
}

}  // namespace
