#pragma once

#include <optional>
#include <string>

#include "lease/record.h"
#include "store/cas/engine.h"
#include "store/cas/relative_record.h"

namespace holdfast::core {

/// A record as an engine keeps it, its instants durations from when it was written, in the measure of whoever keeps it.
struct StoredRecord {
    WriteId write = 0;
    EngineTime written_at;
    RelativeRecord travelling;
};

/// Nothing if the bytes are no record.
std::optional<StoredRecord> decode_kept(const Kept& kept);

/// What time it is here, and what time that is at the engine.
struct Moment {
    Instant here;
    EngineTime engine;

    Instant to_here(EngineTime time) const;
    EngineTime to_engine(Instant instant) const;
};

/// The record in this machine's instants, in the measure of the holders.
Record record_here(const StoredRecord& kept, const Moment& moment, const ClockRates& rates);
/// The other way round, as if written at that moment.
StoredRecord record_kept(Record record, const Moment& moment, const ClockRates& rates, WriteId write);

/// Between which times at the engine a decision holds that was made on the record at that moment: nothing earlier may
/// be taken for over, and from `until` on something that was taken for active is over (T2). What is only remembered of
/// the past gives nobody a right and does not count.
struct Window {
    EngineTime from = EngineTime::min();
    EngineTime until = EngineTime::max();
};
Window window_of(const StoredRecord& kept, EngineTime decided_at);

/// The next time at which something in the record ends by itself; the far future if nothing does.
EngineTime next_end(const StoredRecord& kept);
/// From when on there is nothing left in the record, history included (R3).
EngineTime nothing_left_from(const StoredRecord& kept);

}  // namespace holdfast::core
