#pragma once

#include "peer.h"

namespace holdfast::bench {

/// etcd 3.4 over gRPC. A lock is a key of that name with the holder as its value, put by a transaction that finds no
/// such key, and hung on an etcd lease of its own, so that it has a TTL of its own: in whole seconds, two at least. To
/// renew is a keep-alive of that lease, on a stream that stays open; to release is to revoke it. The token is the
/// revision at which the key was made. To wait is to watch the key until it is deleted while the lease is kept alive,
/// and then to put it.
///
/// A client that asks whether it still holds looks at the TTL that the last keep-alive was answered with, counted from
/// when that was asked.
std::unique_ptr<Peer> etcd_peer(PeerSetting setting);

/// The same, but the keys of fill() all hang on one etcd lease, as those of one etcd session do: one keep-alive renews
/// them all, and they live and die together.
std::unique_ptr<Peer> etcd_shared_peer(PeerSetting setting);

}  // namespace holdfast::bench
