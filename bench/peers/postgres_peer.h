#pragma once

#include <memory>

#include "peer.h"

namespace holdfast::bench {

/// A PostgreSQL with one table of leases, as a program has it that uses its database for locks, too. Each operation is
/// one prepared statement that commits by itself; many leases are one statement that names them all. A lease counts
/// while the database's own clock says so.
///
/// Nothing there tells of a lease that has ended: waiting is to ask every 100 ms, more or less at random, and ends are
/// watched by the sweep that such a program has, every 100 ms. `held` counts the TTL from the moment of asking.
std::unique_ptr<Peer> postgres_peer(PeerSetting setting);

}  // namespace holdfast::bench
