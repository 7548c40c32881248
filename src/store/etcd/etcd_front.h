#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "store/cas/engine.h"
#include "store/etcd/etcd_keys.h"
#include "store/etcd/etcd_link.h"
#include "store/etcd/lease_spans.h"
#include "store/etcd/seen_table.h"

namespace holdfast::etcd {

class KeyValue;
class RangeResponse;

/// What the parts of the engine share: the way to etcd, and what this front knows.
struct Front {
    EtcdKeys keys;
    EtcdLink link;
    SeenTable seen;
    LeaseSpans leases;
    std::string connection_key;  ///< of the connection in use; empty: it has none yet
    /// When the writes that are under way said they were made.
    std::map<core::WriteId, core::EngineTime> own_writes;

    /// etcd offers no time; this front's own (etcd_engine.h).
    static core::EngineTime now() { return core::EngineTime(store_clock_now().time_since_epoch()); }

    /// What an answer of the revision `at` shows of a key, or the watch, which may lag (0), and has just come. `write`
    /// is 0 if nothing is there. Error: others have written there, or it is older than what is known to have been there
    /// before that revision; then etcd is in another history.
    struct Shown {
        core::Kept kept;
        std::int64_t revision = 0;  ///< what a write of the key must compare; 0: there is no key
    };
    Result<Shown> take_note(const KeyValue& pair, std::int64_t at);
    /// The same for one key that was asked for, which need not be there.
    Result<Shown> take_note(std::string_view key, const RangeResponse& answer, std::int64_t revision);

    /// Forgets all that is true only in the history that etcd was in: revisions, and leases of etcd's.
    /// REQUIRES: nothing is under way.
    void leave_history();

 private:
    bool contradicts(const KeyValue& pair, const Seen& shown, std::int64_t at) const;
};

Error unavailable(std::string_view why);

/// The answer as its message; the error if the call failed or it cannot be parsed. The link has checked its header.
template <class Response>
Result<Response> understood(const GrpcAnswer& answer) {
    Response response;
    if (answer.status.code != GrpcStatus::ok) return unavailable(answer.status.message);
    if (!response.ParseFromString(answer.message)) return unavailable("the answer cannot be understood");
    return response;
}

}  // namespace holdfast::etcd
