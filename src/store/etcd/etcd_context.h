#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "store/cas/engine.h"
#include "store/etcd/etcd_keys.h"
#include "store/etcd/etcd_link.h"
#include "store/etcd/lease_spans.h"
#include "store/etcd/seen_writes.h"

namespace holdfast::store::etcd {

class KeyValue;
class RangeResponse;

/// State shared by the parts of the engine: the link to etcd, and what this front knows.
struct EtcdContext {
    EtcdKeys keys;
    EtcdLink link;
    SeenWrites seen;
    LeaseSpans leases;
    std::string connection_key;  ///< of the current connection; empty: none yet
    /// The written_at times of the writes in flight.
    std::map<cas::WriteId, cas::EngineTime> own_writes;

    /// etcd provides no clock; this is the front's own (etcd_engine.h).
    static cas::EngineTime now() { return cas::EngineTime(store_clock_now().time_since_epoch()); }

    /// Records what was just received about a key, from a reply of revision `at`, or from the watch, which may lag
    /// (`at` 0). `write` is 0 if nothing is there. Error: the value is foreign, or older than one known to have been
    /// there before that revision; then etcd is in another history.
    struct ValueAt {
        cas::StoredValue value;
        std::int64_t revision = 0;  ///< what a write of the key must compare; 0: no key
    };
    Result<ValueAt> take_note(const KeyValue& pair, std::int64_t at);
    /// The same for one requested key, which may not exist.
    Result<ValueAt> take_note(std::string_view key, const RangeResponse& answer, std::int64_t revision);

    /// Forgets everything that is valid only in the previous history: revisions and etcd leases. REQUIRES: nothing is
    /// in flight.
    void leave_history();

 private:
    bool contradicts(const KeyValue& pair, const SeenWrite& shown, std::int64_t at) const;
};

Error unavailable(std::string_view why);

/// Parses a reply. Error if the call failed or the reply is malformed. The link has checked its header.
template <class Response>
Result<Response> understood(const GrpcAnswer& answer) {
    Response response;
    if (answer.status.code != GrpcStatus::ok) return unavailable(answer.status.message);
    if (!response.ParseFromString(answer.message)) return unavailable("malformed reply");
    return response;
}

}  // namespace holdfast::store::etcd
