#include "estimator/memory/caching_allocator.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace ddl {
namespace {

constexpr double mebibyte = 1024.0 * 1024.0;
constexpr double block_unit = 512;
constexpr double small_size = mebibyte;
constexpr double small_segment = 2 * mebibyte;
constexpr double shared_size = 10 * mebibyte;
constexpr double shared_segment = 20 * mebibyte;
constexpr double segment_unit = 2 * mebibyte;

double rounded_up(double size, double unit) { return std::ceil(size / unit) * unit; }

double segment_size(double size) {
  if (size <= small_size) return small_segment;
  return size < shared_size ? shared_segment : rounded_up(size, segment_unit);
}

}  // namespace

CachingAllocator::CachingAllocator(Rounding rounding, std::optional<Bytes> capacity)
    : rounding_(rounding), capacity_(capacity) {}

std::size_t CachingAllocator::add(const Block& block) {
  if (unused_.empty()) {
    blocks_.push_back(block);
    return blocks_.size() - 1;
  }
  const std::size_t number = unused_.back();
  unused_.pop_back();
  blocks_[number] = block;
  return number;
}

std::pair<std::pair<double, double>, std::size_t> CachingAllocator::entry(std::size_t block) const {
  return {{blocks_[block].size, blocks_[block].address}, block};
}

std::size_t CachingAllocator::new_segment(double size, bool is_small) {
  if (capacity_ && reserved_ + size > capacity_->value()) {
    release_segments();
    if (reserved_ + size > capacity_->value()) fits_ = false;
  }
  reserved_ += size;
  peak_reserved_ = std::max(peak_reserved_, reserved_);
  const std::size_t block = add({.address = next_address_, .size = size, .is_free = true, .is_small = is_small});
  next_address_ += size;
  return block;
}

void CachingAllocator::release_segments() {
  for (Free* free : {&small_, &large_}) {
    for (auto each = free->begin(); each != free->end();) {
      const Block& block = blocks_[each->second];
      if (block.before != none || block.after != none) {
        ++each;
        continue;
      }
      reserved_ -= block.size;
      unused_.push_back(each->second);
      each = free->erase(each);
    }
  }
}

std::size_t CachingAllocator::allocate(Bytes bytes) {
  if (rounding_ == Rounding::none) {
    allocated_ += bytes.value();
    peak_allocated_ = std::max(peak_allocated_, allocated_);
    reserved_ = allocated_;
    peak_reserved_ = peak_allocated_;
    at_peak_reserved_ = {.allocated = Bytes(peak_allocated_)};
    if (capacity_ && allocated_ > capacity_->value()) fits_ = false;
    return add({.size = bytes.value()});
  }
  const double reserved_before = peak_reserved_;
  const double size = std::max(block_unit, rounded_up(bytes.value(), block_unit));
  const bool is_small = size <= small_size;
  Free& free = pool(is_small);
  const auto found = free.lower_bound({{size, -1.0}, 0});
  std::size_t block = none;
  if (found != free.end()) {
    block = found->second;
    free.erase(found);
  } else {
    block = new_segment(segment_size(size), is_small);
  }
  const double left = blocks_[block].size - size;
  const bool splits = is_small ? left >= block_unit : left > small_size;
  if (splits) {
    const std::size_t rest = add({.address = blocks_[block].address + size,
                                  .size = left,
                                  .before = block,
                                  .after = blocks_[block].after,
                                  .is_free = true,
                                  .is_small = is_small});
    if (blocks_[rest].after != none) blocks_[blocks_[rest].after].before = rest;
    blocks_[block].after = rest;
    blocks_[block].size = size;
    free.insert(entry(rest));
  }
  blocks_[block].is_free = false;
  allocated_ += blocks_[block].size;
  peak_allocated_ = std::max(peak_allocated_, allocated_);
  if (peak_reserved_ > reserved_before) at_peak_reserved_ = reserved_now();
  return block;
}

CachingAllocator::Reserved CachingAllocator::reserved_now() const {
  double segments = 0;
  for (const Free* free : {&small_, &large_}) {
    for (const auto& [place, number] : *free) {
      const Block& block = blocks_[number];
      if (block.before == none && block.after == none) segments += block.size;
    }
  }
  return {.allocated = Bytes(allocated_), .pieces = Bytes(reserved_ - allocated_ - segments), .segments = Bytes(segments)};
}

void CachingAllocator::join(std::size_t block, std::size_t neighbour) {
  Block& into = blocks_[block];
  const Block& other = blocks_[neighbour];
  if (into.before == neighbour) {
    into.address = other.address;
    into.before = other.before;
    if (into.before != none) blocks_[into.before].after = block;
  } else {
    into.after = other.after;
    if (into.after != none) blocks_[into.after].before = block;
  }
  into.size += other.size;
  unused_.push_back(neighbour);
}

void CachingAllocator::free(std::size_t block) {
  assert(!blocks_[block].is_free);
  allocated_ -= blocks_[block].size;
  if (rounding_ == Rounding::none) {
    reserved_ = allocated_;
    blocks_[block].is_free = true;
    unused_.push_back(block);
    return;
  }
  Free& free = pool(blocks_[block].is_small);
  for (const std::size_t neighbour : {blocks_[block].before, blocks_[block].after}) {
    if (neighbour == none || !blocks_[neighbour].is_free) continue;
    free.erase(entry(neighbour));
    join(block, neighbour);
  }
  blocks_[block].is_free = true;
  free.insert(entry(block));
}

}  // namespace ddl
