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

namespace holdfast::postgres {

/// What a swap wants, if it can be one of many in a statement.
enum class Wants : std::uint8_t { nothing_of_this, to_make, to_change, to_end };

/// One statement, and who waits for what it answers.
struct Call {
    const char* statement = nullptr;
    Params params;
    bool writes = false;
    bool locks = false;        ///< it may wait for a row, unless its last parameter says that it must not
    std::string name;          ///< of that row
    bool is_document = false;  ///< or a record
    Wants wants = Wants::nothing_of_this;
    bool tells = false;            ///< it has a notice inside
    std::string marker;            ///< of a swap: what must be there (engine.h)
    std::int64_t position = 0;     ///< of a swap: how far the server must have come
    Callback<Result<Rows>> reply;  ///< gone as soon as it was called; what comes later is of no interest
    Instant until;                 ///< when it has to be answered
    Duration pause{};              ///< before it is tried again, because somebody else had the row locked
    std::string why;               ///< it has to be tried again
    bool alone = false;            ///< it must not share a transaction: one that it was in has failed
    /// In the list of all calls under way, if it is in there.
    std::optional<std::list<std::shared_ptr<Call>>::iterator> place;
};
using CallPtr = std::shared_ptr<Call>;

/// Why a transaction did not take place.
struct Failure {
    std::string state;  ///< PostgreSQL's five characters
    std::string message;
};

/// Calls that share a transaction, and with that a round trip and a commit.
struct Group {
    std::vector<CallPtr> calls;
    std::optional<Params> together;            ///< for the statement `swaps`, if that is what these calls are
    std::vector<std::optional<Rows>> answers;  ///< of as many as were answered; true only once all of it is committed
    std::optional<Failure> failed;             ///< then none of it took effect
    std::size_t bytes = 0;
    Instant sent_at;
};

}  // namespace holdfast::postgres
