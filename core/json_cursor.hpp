#pragma once

#include <cstddef>
#include <iterator>

namespace ddl {

/// An iterator for nlohmann's parser that tells the caller the parser's position, because the library does not report
/// positions of values.
class JsonCursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  JsonCursor(const char* at, std::size_t* bytes_read) : at_(at), bytes_read_(bytes_read) {}
  reference operator*() const { return *at_; }
  JsonCursor& operator++() {
    ++at_;
    ++*bytes_read_;
    return *this;
  }
  JsonCursor operator++(int) {
    const JsonCursor before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const JsonCursor& a, const JsonCursor& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  std::size_t* bytes_read_;
};

}  // namespace ddl
