#include "store/etcd/etcd_context.h"

#include <fmt/format.h>

#include "etcd.pb.h"

namespace holdfast::store::etcd {

Error unavailable(std::string_view why) {
    return {Code::store_unavailable, why.starts_with("etcd") ? std::string(why) : "etcd: " + std::string(why)};
}

/// A key keeps its revision or has a higher one in all replies of later revisions, and no two writes share a revision.
bool EtcdContext::contradicts(const KeyValue& pair, const SeenWrite& shown, std::int64_t at) const {
    const SeenWrite* known = seen.find(pair.key());
    if (known == nullptr || known->revision > at) return false;
    return known->revision > shown.revision ||
           (known->revision == shown.revision && (!known->there || known->write != shown.write));
}

Result<EtcdContext::ValueAt> EtcdContext::take_note(const KeyValue& pair, std::int64_t at) {
    Value value;
    const bool parsed = value.ParseFromString(pair.value());
    if (parsed && value.write().empty() && !value.content().empty())
        return cas::other_format(fmt::format("etcd, key '{}'", pair.key()));
    if (!parsed || value.write().size() != cas::WriteId::size || pair.mod_revision() <= 0)
        return unavailable(fmt::format("the value of the key '{}' was not written by Holdfast", pair.key()));
    ValueAt shown;
    shown.revision = pair.mod_revision();
    const bool there = !value.content().empty();
    SeenWrite write;
    write.revision = pair.mod_revision();
    const cas::WriteId id = cas::WriteId::from_bytes(value.write());
    if (there) write.write = id;
    if (contradicts(pair, write, at)) {
        link.lose_history("it has an older write than before, so it was restored to an earlier state");
        return unavailable(link.last_failure());
    }
    const auto own = own_writes.find(id);
    write.since = own == own_writes.end() ? now() : own->second;
    if (value.has_due_in_ns() && there) write.due = write.since + Duration(value.due_in_ns());
    write.holders.assign(value.holders().begin(), value.holders().end());
    shown.value.written_at = seen.tell(pair.key(), std::move(write));
    if (!there) return shown;
    shown.value.write = id;
    shown.value.bytes = std::move(*value.mutable_content());
    return shown;
}

Result<EtcdContext::ValueAt> EtcdContext::take_note(std::string_view key, const RangeResponse& answer,
                                                    std::int64_t revision) {
    if (answer.kvs_size() > 0 && answer.kvs(0).key() != key)
        return unavailable("the reply to a read is for another key");
    if (answer.kvs_size() > 0) return take_note(answer.kvs(0), revision);
    seen.tell_absent(key, revision, now());
    return ValueAt{};
}

void EtcdContext::leave_history() {
    seen.clear();
    leases.forget_all();
    own_writes.clear();
}

}  // namespace holdfast::store::etcd
