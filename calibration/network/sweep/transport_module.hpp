#pragma once

#include <memory>
#include <string>

#include "calibration/network/sweep/transport.hpp"

namespace ddl {

/// Options of a transport.
struct TransportOptions {
  /// Results overwrite the input, if the operation allows it. For NCCL.
  bool in_place = true;
  /// Timeout: an exchange without progress for this long is considered hung.
  Seconds patience = Seconds(120);
};

/// What a transport exports as `ddl_transport_NAME` from its loadable module.
struct TransportModule {
  /// `beside`: the participating processes, if they have already joined; else nullptr. They outlive the transport, and
  /// opening it waits for none of them. An Error if the library cannot be used, with its reason.
  std::unique_ptr<Transport> (*open)(Processes* beside, const TransportOptions& options);
};

}  // namespace ddl
