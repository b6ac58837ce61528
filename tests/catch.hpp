#pragma once

// The only place that depends on the major version of Catch2: 2 has a single header, 3 has not.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
#else
#include <catch2/catch.hpp>
/// For texts; version 3 has this name, and its `Contains` is for ranges.
inline auto ContainsSubstring(const std::string& part) { return Catch::Matchers::Contains(part); }
#endif
