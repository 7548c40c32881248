#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/cas/changes.h"
#include "store/cas/decision.h"
#include "store/cas/stored_record.h"

namespace holdfast::store::cas {

/// A front's notice to the others of a record that it wrote.
struct RecordNotice {
    struct Change {
        ChangeKind became;
        lease::Lease lease;
    };
    WriteId write = 0;
    std::string resource;
    bool freed = false;           ///< a waiter may have its turn
    std::vector<Change> changes;  ///< with Instant{} in the place of the moment of the write (T1)
    bool cut = false;             ///< no room for all contents of the leases, or for any of them
};

/// Notices of records begin with this; other notices must not.
inline constexpr char record_notice_mark = 'R';

/// Encodes in at most `max_bytes`; sets `cut` if something is left out.
std::string encode_notice(RecordNotice notice, std::size_t max_bytes);
/// The encoded notice of a write. Empty if the write concerns only its holder: renewals are not sent
/// (docs/decisions/0010-engines.md), unless the resource is reserved.
std::string notice_of(std::string_view resource, WriteId write, const Decision& decision, Instant now);
/// Nullopt if it is not a record notice.
std::optional<RecordNotice> decode_notice(std::string_view bytes);

}  // namespace holdfast::store::cas
