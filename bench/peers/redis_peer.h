#pragma once

#include <memory>

#include "peer.h"

namespace holdfast::bench {

/// A Redis, used as its documentation teaches: SET NX PX with a value that nobody else has, and scripts that compare it
/// before they extend or delete; many at once are sent as a pipeline.
///
/// Redis has no queue. Waiting is what Redisson does, the library that waits best: it is told by a notification when
/// the key is deleted, and asks for the time that is left (PTTL), so that it is there when the key ends. Every 100 ms,
/// more or less at random, it asks anyway, as notifications may be lost. Ends are watched by notifications, too: they
/// come when Redis finds that a key is over.
///
/// Redis says nothing of a local deadline, and many libraries know none. `held` counts as Redlock does: validity is the
/// TTL from the moment of asking, less 1 % and 2 ms for drift.
std::unique_ptr<Peer> redis_peer(PeerSetting setting);

}  // namespace holdfast::bench
