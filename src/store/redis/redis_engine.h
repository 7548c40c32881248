#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "codec/resp/redis_address.h"
#include "store/cas/engine.h"

namespace boost::asio {
class io_context;
}

namespace holdfast::store::redis {

struct RedisEngineOptions {
    codec::resp::RedisAddress address;
    std::string prefix = "holdfast";  ///< of all keys and of the channel
    bool cluster = false;             ///< require Redis Cluster; otherwise it is detected
    unsigned wait = 0;                ///< number of replicas that must have a write before it counts as done
    Duration wait_within = 1s;        ///< timeout for the replicas
    Duration connect_within = 2s;
    Duration answer_within = 2s;
    std::size_t max_calls = 100'000;          ///< in flight on one connection
    std::size_t max_unsent_bytes = 64 << 20;  ///< on one connection
};

/// Parses `redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE][?prefix=holdfast&wait=1&wait_ms=500&cluster=1]`. Error code
/// `invalid_argument`, also for an unknown parameter. No message contains the password.
Result<RedisEngineOptions> parse_redis_engine(std::string_view url);

/// An engine on Redis 7 or a Redis Cluster (docs/decisions/0010-engines.md).
///
/// *Keys.* Each record or document is one string, `PREFIX:r:RESOURCE` or `PREFIX:d:DOCUMENT` (stored.h). Sorted sets
/// name the records: `PREFIX:h:HOLDER` those of a holder, `PREFIX:f:FOLDER` those in a folder, and `PREFIX:due` those
/// for which something is to be done, by the time of that or an earlier one. A swap is a script that writes a record
/// together with its entries in these sets, and publishes its notice on `PREFIX:notices`; so the sets name exactly the
/// records that exist. The swaps of one turn share one call of the script. Records past their end are deleted by
/// overdue(), with their entries. In a cluster keys begin with `{PREFIX}`: all are in one slot, and so on one master.
///
/// *Position in history.* `PREFIX:position` counts the script calls that wrote something. Like the marker, it is
/// checked before anything is written (docs/decisions/0013-engines-that-forget.md). A history is identified by the
/// process and the replication id of Redis, and in a cluster also by the node.
///
/// *Time* is that of Redis, in whole microseconds: `from` is rounded up and `until` down, so a swap that took effect
/// was within its window. No swap takes effect much later than it was called, even if Redis was suspended before
/// executing it: `until` is never later than the time for which swaps may linger.
///
/// *Refused*: a replica, a Redis before 7, and a Redis that may evict records when its memory is full
/// (`maxmemory-policy` other than `noeviction`): an evicted lease could be granted twice.
///
/// *Connections.* One for commands and one for notices. Both are closed and reopened when either breaks, times out, or
/// reports that the server is no longer the master, or no longer that of the slot. The history may have changed, and
/// the listener is notified of that first. Other errors (memory or disk full, no permission) are returned with the
/// message from Redis.
std::unique_ptr<cas::Engine> make_redis_engine(boost::asio::io_context& loop, RedisEngineOptions options);

}  // namespace holdfast::store::redis
