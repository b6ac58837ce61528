#pragma once

#include <memory>

#include "calibration/network/sweep/transport.hpp"

namespace ddl {

/// Options of a transport.
struct TransportOptions {
  /// For NCCL: whether results overwrite the input of operations that support this.
  bool in_place = true;
  /// Timeout: an exchange without progress for this long is considered hung.
  Seconds patience = Seconds(120);
};

/// The function that a transport exports as `ddl_transport_NAME` from its loadable module.
struct TransportModule {
  /// `joined`: the participating processes, if they have already joined; otherwise nullptr. The processes must outlive the
  /// transport. Opening the transport does not wait for any process. Throws Error with the library's reason if the library
  /// cannot be used.
  std::unique_ptr<Transport> (*open)(Processes* joined, const TransportOptions& options);
};

}  // namespace ddl
