#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "base/time.h"
#include "store/cas/engine.h"
#include "store/postgres/params.h"
#include "store/postgres/rows.h"

namespace holdfast::store::postgres {

/// What the statement `swap` takes besides the arrays of its rows.
struct SwapNeeds {
    bool makes = false;     ///< the row is expected to be absent
    bool ends = false;      ///< it is to be deleted, or to stay absent
    bool tells = false;     ///< contains a notice
    std::int64_t from = 0;  ///< its window: also among the values of the row
    std::int64_t until = 0;
    cas::WriteId marker;        ///< the required marker (engine.h)
    std::int64_t position = 0;  ///< the required position
};

/// One statement, and the callback for its reply.
struct Call {
    const char* statement = nullptr;
    Params params;  ///< of a swap: its row of the arrays
    bool writes = false;
    bool locks = false;        ///< it may wait for a row lock, unless `no_wait` forbids it
    bool no_wait = false;      ///< REQUIRES of a swap: `alone`
    std::string name;          ///< of that row
    bool is_document = false;  ///< otherwise a record
    std::optional<SwapNeeds> swap;
    Callback<Result<Rows>> reply;  ///< empty once called; later results are ignored
    Instant until;                 ///< its deadline
    Duration pause{};              ///< backoff before the next try, because the row was locked
    std::string why;               ///< why it has to be retried
    bool alone = false;            ///< it must not share a transaction: an earlier shared one failed
    /// Its place in the list of all calls in flight, if it is in there.
    std::optional<std::list<std::shared_ptr<Call>>::iterator> place;
};
using CallPtr = std::shared_ptr<Call>;

/// Why a transaction failed.
struct Failure {
    std::string state;  ///< the five-character SQLSTATE
    std::string message;
};

/// Calls that share a transaction, and so a round trip and a commit.
struct Group {
    std::vector<CallPtr> calls;
    std::optional<Params> swap;                ///< parameters of that statement, if the calls are swaps
    std::vector<std::optional<Rows>> answers;  ///< one per answered call; valid only once committed
    std::optional<Failure> failed;             ///< if set, nothing took effect
    std::size_t bytes = 0;
    Instant sent_at;
};

}  // namespace holdfast::store::postgres
