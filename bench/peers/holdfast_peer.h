#pragma once

#include <memory>

#include "peer.h"

namespace holdfast::bench {

/// A server of Holdfast, or a quorum of them, by the native verbs of its RESP port (docs/resp.md). One command renews
/// 1,000 leases; waiting is the server's queue; ends come as events. `held` counts as T3 says.
std::unique_ptr<Peer> holdfast_peer(PeerSetting setting);

}  // namespace holdfast::bench
