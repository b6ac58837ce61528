#pragma once

#include <memory>
#include <string>

#include "calibration/sweep/transport.hpp"

namespace ddl {

/// What a transport exports as `ddl_transport_NAME` from its loadable module.
struct TransportModule {
  /// `beside`: the processes that take part, where another library has joined them already; nullptr where none has. They
  /// outlive the transport, and opening it waits for none of them. An Error where the library cannot be used, with its word
  /// for why.
  std::unique_ptr<Transport> (*open)(Processes* beside);
};

}  // namespace ddl
