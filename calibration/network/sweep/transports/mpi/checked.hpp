#pragma once

#include <string_view>

namespace ddl::mpi {

/// Throws an Error with the library's message if `status` is not MPI_SUCCESS; `what` failed: "a broadcast".
void check(int status, std::string_view what);

}  // namespace ddl::mpi
