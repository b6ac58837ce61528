#include <dlfcn.h>
#include <mpi.h>

#include "calibration/network/sweep/transport_module.hpp"
#include "calibration/network/sweep/transports/mpi/transport.hpp"

namespace ddl {
namespace {

/// Makes the functions of Open MPI visible in the whole process. Open MPI's plug-ins are not linked with Open MPI's library,
/// so they only find visible functions. By default, functions of a loaded module are not visible.
void make_library_known() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&MPI_Init_thread), &info) != 0 && info.dli_fname != nullptr) {
    static_cast<void>(dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD));
  }
}

std::unique_ptr<Transport> open(Processes* /*joined*/, const TransportOptions& /*options*/) {
  make_library_known();
  return mpi::make_transport();
}

}  // namespace
}  // namespace ddl

extern "C" __attribute__((visibility("default"))) const ddl::TransportModule ddl_transport_mpi{.open = ddl::open};
