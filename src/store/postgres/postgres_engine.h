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

namespace holdfast {

struct PostgresEngineOptions {
    std::vector<std::pair<std::string, std::string>> parameters;  ///< for libpq, as in a connection string
    std::string schema = "holdfast";
    std::size_t pool = 4;  ///< connections, besides the one that listens
    Duration connect_within = 2s;
    Duration answer_within = 2s;
    std::size_t max_calls = 100'000;           ///< under way
    std::size_t max_bytes = 64 * 1024 * 1024;  ///< of calls under way
    Duration sweep_every = 10s;
    /// For how long this front has seen the engine's clock run evenly before it forgets records. By then no block of
    /// tokens from before a step of that clock is in use any more (G3).
    Duration sweep_after = 2min;
};

/// Of `postgres://…` or `postgresql://…` as libpq has it, with `schema` and `pool` (1 to 64) as parameters of our own.
/// Error code `invalid_argument`; no message repeats what was given.
Result<PostgresEngineOptions> parse_postgres_engine(std::string_view url);

/// An engine on a PostgreSQL 15 or newer, by libpq (docs/decisions/0010-engines.md).
///
/// *Where things are.* The table `kept` of a schema that the first front creates. A swap and a fetch are one statement
/// each, which falls back on a function in that schema (functions.cpp), so that one round trip is enough. Time is
/// clock_timestamp().
///
/// *How calls travel.* Those of one turn go out together: up to 512 swaps, each of another row, are one statement and
/// so one transaction, which makes new rows and then locks those that are there, each by the order of names, so that
/// two fronts never wait for each other. Looks are pipelined. If one of them fails, nothing of its transaction took
/// effect, and each is tried again by itself. While all connections are busy, calls gather, and the next one that is
/// free takes them together. `done` is said only after the commit, which waits for the disk.
///
/// *CasLoop that linger.* No swap takes effect if it begins later than `answer_within` after its call, by the engine's
/// clock, even if it lay in a buffer; once begun it has `answer_within` (statement_timeout), and if its commit waits
/// for longer than that, its session is ended (pool.h). A row that is locked for long is tried again without waiting,
/// so that calls for other rows do not queue up behind it.
///
/// *Notices* are NOTIFY on a channel named after the schema. Notices inside a swap's transaction make commits queue up,
/// so only those that must arrive are sent like that; the others go together after their swaps were answered, at most
/// every ten milliseconds, since each transaction wakes the connections of all fronts that listen.
///
/// *Lives.* All connections must be to the same life of the same server: the last that says another one is believed,
/// and the others are closed. A standby is no engine.
///
/// *History.* What the engine tells is the system identifier and the timeline: a restart changes neither, and loses
/// nothing that was committed. Its position is the end of the write-ahead log (pg_current_wal_insert_lsn). A swap reads
/// it inside its transaction: what is said with `done` is before the commit record, and so on disk, and on a
/// synchronous standby, whenever that is. The position that a swap requires is compared before it writes anything.
///
/// A pooler that changes sessions between transactions cannot be in between: it breaks LISTEN and prepared statements.
std::unique_ptr<core::Engine> make_postgres_engine(boost::asio::io_context& loop, PostgresEngineOptions options);

}  // namespace holdfast
