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

namespace holdfast {

struct RedisEngineOptions {
    RedisAddress address;
    std::string prefix = "holdfast";  ///< of all keys, and of the channel
    bool cluster = false;             ///< it must be one; otherwise that is found out
    unsigned wait = 0;                ///< how many replicas must have a write before it counts as done
    Duration wait_within = 1s;        ///< for the replicas
    Duration connect_within = 2s;
    Duration answer_within = 2s;
    std::size_t max_calls = 100'000;          ///< under way on one connection
    std::size_t max_unsent_bytes = 64 << 20;  ///< on one connection
};

/// Of `redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE][?prefix=holdfast&wait=1&wait_ms=500&cluster=1]`. Error code
/// `invalid_argument`, also for a parameter that is not known. No message repeats the password.
Result<RedisEngineOptions> parse_redis_engine(std::string_view url);

/// An engine on Redis 7 or a Redis Cluster (docs/decisions/0010-engines.md).
///
/// *Where things are.* What is kept under a name is one string, `PREFIX:r:RESOURCE` or `PREFIX:d:DOCUMENT` (stored.h);
/// it expires at its `keep_until`. A swap is a script on that key, which publishes its notice on `PREFIX:notices`; the
/// swaps of one turn share a call of it. `PREFIX:h:HOLDER`, `PREFIX:f:FOLDER` and `PREFIX:due:0` to `15` are sorted
/// sets by which records are found (indices.h). They are written before the record is, so that they may name what is
/// not there, but never miss what is. In a cluster keys begin with `{PREFIX}`: all are in one slot, and on one master.
///
/// *Its place in history.* `PREFIX:position` counts the calls of the script that wrote something, and is checked, as
/// the marker is, before anything is written (docs/decisions/0013-engines-that-forget.md). Its history is the process
/// and the replication id of Redis, and in a cluster the node.
///
/// *Time* is Redis's, in whole microseconds: `from` is rounded up and `until` down, so a swap that is done was in its
/// window. No swap is done much later than it was called, be it that Redis slept with it in its hands: `until` is never
/// further away than swaps may linger.
///
/// *What it refuses*: a replica, a Redis before 7, and one that may throw records away when its memory is full
/// (`maxmemory-policy` other than `noeviction`): a lease that vanished would be granted twice.
///
/// *Connections.* One for commands and one for notices. When either breaks, does not answer in time, or says that it is
/// no master or not that of the slot any more, both are given up and made again: its history may be another, and that
/// is told first. Another refusal (memory or disk full, no permission) is answered as Redis words it.
std::unique_ptr<core::Engine> make_redis_engine(boost::asio::io_context& loop, RedisEngineOptions options);

}  // namespace holdfast
