#include "calibration/network/sweep/transports/mpi/checked.hpp"

#include <array>
#include <string>

#include <fmt/format.h>
#include <mpi.h>

#include "core/error.hpp"

namespace ddl::mpi {

void check(int status, std::string_view what) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw Error(fmt::format("MPI: {} failed: {}", what, std::string(text.data(), static_cast<std::size_t>(length))),
              "see the output of the launcher");
}

}  // namespace ddl::mpi
