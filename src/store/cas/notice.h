#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/cas/changes.h"
#include "store/cas/stored_record.h"

namespace holdfast::core {

/// What a front tells the others of a record that it wrote.
struct RecordNotice {
    struct Change {
        ChangeKind became;
        Lease lease;
    };
    WriteId write = 0;
    std::string resource;
    bool freed = false;           ///< somebody may have their turn
    std::vector<Change> changes;  ///< with Instant{} in the place of the moment of the write (T1)
    bool cut = false;             ///< there was no room for all that the leases carry, or for any of them
};

/// Those of records begin with this; what others send must not.
inline constexpr char record_notice_mark = 'R';

/// In at most so many bytes; sets `cut` if it takes leaving something out.
std::string encode_notice(RecordNotice notice, std::size_t max_bytes);
/// Nothing if it is none of these.
std::optional<RecordNotice> decode_notice(std::string_view bytes);

}  // namespace holdfast::core
