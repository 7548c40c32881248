#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lease/record.h"
#include "store/cas/engine.h"
#include "store/cas/relative_record.h"

namespace holdfast::store::cas {

/// A record as an engine keeps it. Its instants are durations from when it was written, in the measure of its keeper.
struct StoredRecord {
    WriteId write = 0;
    EngineTime written_at;
    RelativeRecord relative;
};

/// Nullopt if the bytes cannot be decoded.
std::optional<StoredRecord> decode_stored(const StoredValue& value);

/// One moment on this machine's clock and on the engine's.
struct Moment {
    Instant here;
    EngineTime engine;

    Instant to_here(EngineTime time) const;
    EngineTime to_engine(Instant instant) const;
};

/// The record in this machine's instants, in the measure of the holders.
lease::Record record_here(const StoredRecord& stored, const Moment& moment, const ClockRates& rates);
/// The reverse, as if written at that moment.
StoredRecord to_stored(lease::Record record, const Moment& moment, const ClockRates& rates, WriteId write);

/// The range of engine times for which a decision made on the record at that moment holds: before `from`, something
/// taken as ended would not have ended; from `until` on, something taken as active has ended (T2). History entries give
/// no rights and do not count.
struct Window {
    EngineTime from = EngineTime::min();
    EngineTime until = EngineTime::max();
};
Window window_of(const StoredRecord& stored, EngineTime decided_at);

/// The next time at which something in the record ends by itself; EngineTime::max() if nothing does.
EngineTime next_end(const StoredRecord& stored);
/// The time from which nothing is left in the record, history included (R3).
EngineTime nothing_left_from(const StoredRecord& stored);

/// Those with a lease or a reservation in the record, each once.
std::vector<std::string_view> holders_in(const lease::Record& record);

}  // namespace holdfast::store::cas
