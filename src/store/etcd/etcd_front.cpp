#include "store/etcd/etcd_front.h"

#include "etcd.pb.h"

namespace holdfast::etcd {

Error unavailable(std::string_view why) {
    return {"store_unavailable", why.starts_with("etcd") ? std::string(why) : "etcd: " + std::string(why)};
}

Result<Front::Shown> Front::take_note(const KeyValue& pair) {
    Value value;
    if (!value.ParseFromString(pair.value()) || value.write() == 0 || pair.mod_revision() <= 0)
        return unavailable("the value of the key '" + pair.key() + "' was not written by Holdfast");
    Shown shown;
    shown.revision = pair.mod_revision();
    const bool there = !value.content().empty();
    Seen write;
    write.revision = pair.mod_revision();
    write.write = there ? value.write() : 0;
    const auto own = own_writes.find(value.write());
    write.since = own == own_writes.end() ? now() : own->second;
    if (value.has_due_in_ns() && there) write.due = write.since + Duration(value.due_in_ns());
    write.holders.assign(value.holders().begin(), value.holders().end());
    shown.kept.written_at = seen.tell(pair.key(), std::move(write));
    if (!there) return shown;
    shown.kept.write = value.write();
    shown.kept.bytes = std::move(*value.mutable_content());
    return shown;
}

Result<Front::Shown> Front::take_note(std::string_view key, const RangeResponse& answer, std::int64_t revision) {
    if (answer.kvs_size() > 0 && answer.kvs(0).key() != key)
        return unavailable("the answer to a look is about something else");
    if (answer.kvs_size() > 0) return take_note(answer.kvs(0));
    seen.tell_absent(key, revision, now());
    return Shown{};
}

}  // namespace holdfast::etcd
