#pragma once

#include <memory>
#include <string>

#include "calibration/network/sweep/transport.hpp"

namespace ddl {

/// How a transport is wanted.
struct TransportOptions {
  /// Results come to where what is given lies, as far as the operation can. Of NCCL.
  bool in_place = true;
  /// An exchange of which nothing is seen for so long does not end.
  Seconds patience = Seconds(120);
};

/// What a transport exports as `ddl_transport_NAME` from its loadable module.
struct TransportModule {
  /// `beside`: the processes that take part, where they have found each other already; nullptr where they have not. They
  /// outlive the transport, and opening it waits for none of them. An Error where the library cannot be used, with its word
  /// for why.
  std::unique_ptr<Transport> (*open)(Processes* beside, const TransportOptions& options);
};

}  // namespace ddl
