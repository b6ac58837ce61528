#pragma once

#include <string_view>

namespace ddl::mpi {

/// Throws Error with the library's message if `status` is not MPI_SUCCESS. `what`: the attempted action, such as "a
/// broadcast".
void check(int status, std::string_view what);

}  // namespace ddl::mpi
