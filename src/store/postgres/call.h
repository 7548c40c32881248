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
#include "store/postgres/params.h"
#include "store/postgres/rows.h"

namespace holdfast::store::postgres {

/// The operation of a swap that can share a statement with others.
enum class Wants : std::uint8_t { nothing_of_this, to_make, to_change, to_end };

/// One statement, and the callback for its reply.
struct Call {
    const char* statement = nullptr;
    Params params;
    bool writes = false;
    bool locks = false;        ///< it may wait for a row lock, unless its last parameter forbids it
    std::string name;          ///< of that row
    bool is_document = false;  ///< otherwise a record
    Wants wants = Wants::nothing_of_this;
    bool tells = false;            ///< contains a notice
    std::string marker;            ///< of a swap: the required marker (engine.h)
    std::int64_t position = 0;     ///< of a swap: the required position
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
    std::optional<Params> together;            ///< parameters of the statement `swaps`, if the calls are sent as one
    std::vector<std::optional<Rows>> answers;  ///< one per answered call; valid only once committed
    std::optional<Failure> failed;             ///< if set, nothing took effect
    std::size_t bytes = 0;
    Instant sent_at;
};

}  // namespace holdfast::store::postgres
