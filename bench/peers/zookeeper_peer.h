#pragma once

#include "peer.h"

namespace holdfast::bench {

/// ZooKeeper 3.8 by its C client. A lock is an ephemeral node of that name with the holder as its value, in a session
/// whose timeout is the TTL: who creates the node has the lock. A session pings by itself, so that a lock ends when its
/// holder dies, stops or is cut off, not because nobody asks for a renewal; to renew is a round trip in the session,
/// which all locks of that TTL share. The token is the transaction that created the node (czxid).
///
/// To wait is to watch the node until it is deleted, and then to create it. The recipe with sequential nodes has
/// waiters queue, which one waiter does not need; and it would not exclude who asks once by creating the node, at a
/// third of the round trips.
///
/// A client that asks whether it still holds looks at the state of its session, as the library knows it.
std::unique_ptr<Peer> zookeeper_peer(PeerSetting setting);

}  // namespace holdfast::bench
