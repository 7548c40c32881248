#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "store/cas/engine.h"

namespace boost::asio {
class io_context;
}

namespace holdfast::store::postgres {

struct PostgresEngineOptions {
    std::vector<std::pair<std::string, std::string>> parameters;  ///< for libpq, as in a connection string
    std::string schema = "holdfast";
    std::size_t pool = 4;  ///< connections, besides the listening one
    Duration connect_within = 2s;
    Duration answer_within = 2s;
    std::size_t max_calls = 100'000;           ///< in flight
    std::size_t max_bytes = 64 * 1024 * 1024;  ///< of calls in flight
    Duration sweep_every = 10s;
    /// How long this front must have seen the engine's clock run evenly before it deletes expired records. By then no
    /// block of tokens from before a step of that clock is still in use (G3).
    Duration sweep_after = 2min;
};

/// Parses `postgres://…` or `postgresql://…` as libpq does, with the additional parameters `schema` and `pool` (1 to
/// 64). Error code `invalid_argument`. No message repeats the URL.
Result<PostgresEngineOptions> parse_postgres_engine(std::string_view url);

/// An engine on PostgreSQL 15 or newer, using libpq (docs/decisions/0010-engines.md).
///
/// *Data.* Everything is in the table `kept` of a schema that the first front creates. A swap or a fetch is a call of a
/// function in that schema (functions.cpp), so one round trip is enough. Time is clock_timestamp().
///
/// *Batching.* The calls of one turn are sent together. A swap is a statement that takes one row or up to 512 distinct
/// rows, in one transaction. It inserts new rows and then locks existing ones, each in name order, so that two fronts
/// never deadlock. Reads are pipelined. If a call fails, nothing of its transaction took effect, and each call is
/// retried by itself. While all connections are busy, calls accumulate, and the next free connection takes them
/// together. `done` is reported only after the commit, which waits for the disk.
///
/// *Lingering swaps.* No swap takes effect if it begins later than `answer_within` after its call, by the engine's
/// clock, even if it was delayed in a buffer. Once begun it has `answer_within` (statement_timeout). If its commit
/// waits longer than that, its session is terminated (pool.h). A call for a row that stays locked is retried without
/// waiting for the lock, so that calls for other rows do not queue behind it.
///
/// *Notices* are NOTIFY on a channel named after the schema. Notices inside a swap's transaction serialize commits, so
/// only those that must arrive are sent that way. The others are sent together after their swaps were answered, at most
/// every ten milliseconds, since each transaction wakes the listening connections of all fronts.
///
/// *Incarnations.* All connections must be to the same incarnation of the same server. The latest connection to report
/// another one wins, and the others are closed. A standby is not accepted.
///
/// *History.* The history is the system identifier and the timeline: a restart changes neither, and loses no commit.
/// The position is the end of the write-ahead log (pg_current_wal_insert_lsn). A swap reads it inside its transaction,
/// so the position reported with `done` precedes the commit record and is on disk, and on a synchronous standby,
/// whenever that record is. The position that a swap requires is checked before it writes anything.
///
/// A pooler that switches sessions between transactions cannot be used: it breaks LISTEN and prepared statements.
std::unique_ptr<cas::Engine> make_postgres_engine(boost::asio::io_context& loop, PostgresEngineOptions options);

}  // namespace holdfast::store::postgres
