#pragma once

#include <string_view>

namespace ddl::mpi {

/// An Error with the library's words where `status` is not MPI_SUCCESS; `what` failed: "a broadcast".
void check(int status, std::string_view what);

}  // namespace ddl::mpi
