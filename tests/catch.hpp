#pragma once

// Only this file depends on the major version of Catch2. Version 2 has a single header, which version 3 lacks.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
#else
#include <catch2/catch.hpp>
/// Version 3 has this name for texts; its `Contains` is for ranges.
inline auto ContainsSubstring(const std::string& part) { return Catch::Matchers::Contains(part); }
#endif
