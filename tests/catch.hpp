#pragma once

// The one place that knows which major version of Catch2 is installed: 2 has a single header, 3 has not.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
