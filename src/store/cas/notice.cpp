#include "store/cas/notice.h"

#include <algorithm>

#include "codec/record/record_codec.h"
#include "lease/manifest.h"
#include "notice.pb.h"

namespace holdfast::store::cas {
namespace {

std::string encoded(const RecordNotice& notice) {
    saved::RecordNotice out;
    out.set_write(notice.write.bytes());
    out.set_resource(notice.resource);
    out.set_freed(notice.freed);
    out.set_cut(notice.cut);
    lease::Record leases;
    for (const RecordNotice::Change& change : notice.changes) {
        leases.leases.push_back(change.lease);
        out.mutable_became()->push_back(static_cast<char>(change.became));
    }
    if (!notice.changes.empty()) out.set_leases(codec::record::encode_record(leases));
    return record_notice_mark + out.SerializeAsString();
}

}  // namespace

std::string encode_notice(RecordNotice notice, std::size_t max_bytes) {
    std::sort(notice.changes.begin(), notice.changes.end(),
              [](const auto& a, const auto& b) { return a.lease.token < b.lease.token; });
    std::string bytes = encoded(notice);
    if (bytes.size() <= max_bytes) return bytes;
    notice.cut = true;
    for (RecordNotice::Change& change : notice.changes) {
        change.lease.metadata.clear();
        change.lease.reason.clear();
    }
    bytes = encoded(notice);
    if (bytes.size() <= max_bytes) return bytes;
    notice.changes.clear();
    return encoded(notice);
}

std::string notice_of(std::string_view resource, WriteId write, const Decision& decision, Instant now) {
    RecordNotice notice;
    notice.write = write;
    notice.resource = resource;
    notice.freed = decision.freed;
    const bool renewals = lease::is_reserved(resource);
    const auto add = [&](ChangeKind became, lease::Lease lease) {
        lease::Record one;
        one.leases.push_back(std::move(lease));
        notice.changes.push_back({became, std::move(to_relative(std::move(one), now).record.leases[0])});
    };
    for (const Decision::Expired& expired : decision.expired)
        add(ChangeKind::expired, expired.lease);
    for_each_change(decision.before, decision.after, [&](ChangeKind became, const lease::Lease& lease) {
        if (became != ChangeKind::renewed || renewals) add(became, lease);
    });
    if (!notice.freed && notice.changes.empty()) return {};
    return encode_notice(std::move(notice), Engine::notice_bytes);
}

std::optional<RecordNotice> decode_notice(std::string_view bytes) {
    if (bytes.empty() || bytes[0] != record_notice_mark) return std::nullopt;
    saved::RecordNotice in;
    if (!in.ParseFromArray(bytes.data() + 1, static_cast<int>(bytes.size() - 1))) return std::nullopt;
    if (in.resource().empty() || in.write().size() != WriteId::size) return std::nullopt;
    RecordNotice notice{WriteId::from_bytes(in.write()), in.resource(), in.freed(), {}, in.cut()};
    auto leases = codec::record::decode_record(in.leases());
    if (!leases || leases->leases.size() != in.became().size()) return std::nullopt;
    for (std::size_t i = 0; i < leases->leases.size(); ++i) {
        const auto became = static_cast<unsigned char>(in.became()[i]);
        if (became > static_cast<unsigned char>(ChangeKind::expired)) return std::nullopt;
        notice.changes.push_back({static_cast<ChangeKind>(became), std::move(leases->leases[i])});
    }
    return notice;
}

}  // namespace holdfast::store::cas
