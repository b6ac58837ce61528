// The tests in this file need no GPU.

#include "profiler/backends/cuda/backend.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

using namespace ddl;

TEST_CASE("a missing GPU is named") {
  const std::string text = error_of([] { static_cast<void>(make_cuda_backend({.device = 12345})); });
  CHECK(text.find("cudaError") != std::string::npos);
}
