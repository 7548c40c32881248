#include "authority/idempotency.h"

namespace holdfast::authority {
namespace {

std::uint64_t fingerprint_of(const AcquireRequest& request) {
    std::string text = request.session + '\n' + request.reason + '\n' + request.metadata + '\n';
    text += std::to_string(request.ttl ? request.ttl->count() : -1) + '\n';
    text += std::to_string(request.epoch.value_or(0)) + '\n';
    for (const lease::Intent& intent : request.intents) {
        text += intent.resource + '\n';
        text += to_string(intent.predicate);
    }
    return hash_text({}, text);
}

bool worth_keeping(const AcquireAnswer& answer) {
    if (const auto* busy = std::get_if<AcquireBusy>(&answer)) return busy->code != Code::cancelled;
    return std::holds_alternative<AcquireGranted>(answer);
}

/// Approximate memory of an answer: its text plus a fixed overhead.
std::size_t bytes_of(const AcquireAnswer& answer) {
    std::size_t bytes = 512;
    if (const auto* granted = std::get_if<AcquireGranted>(&answer))
        for (const HeldLease& held : granted->leases)
            bytes += sizeof held + held.resource.size() + held.lease.text_bytes();
    if (const auto* busy = std::get_if<AcquireBusy>(&answer))
        for (const NamedConflict& named : busy->conflicts)
            bytes += sizeof named + named.resource.size() + named.conflict.holder.size() + named.conflict.reason.size();
    return bytes;
}

}  // namespace

Idempotency::Idempotency(Random random)
    : first_key_{random.next(), random.next()}, second_key_{random.next(), random.next()} {}

/// Holders cannot contain control characters, so different pairs give different text.
Idempotency::Name Idempotency::name_of(const AcquireRequest& request) const {
    const std::string text = request.holder + '\n' + request.idempotency_key;
    return {hash_text(first_key_, text), hash_text(second_key_, text)};
}

Idempotency::Seen Idempotency::look_up(const AcquireRequest& request, Instant now) {
    forget(now);
    const std::uint64_t fingerprint = fingerprint_of(request);
    const auto [found, fresh] = entries_.try_emplace(name_of(request));
    Entry& entry = found->second;
    if (fresh) {
        entry.fingerprint = fingerprint;
        return First{};
    }
    if (entry.fingerprint != fingerprint) return AcquireAnswer{Refused{Code::idempotency_mismatch, {}, {}}};
    if (!entry.answer) return AcquireAnswer{Refused{Code::idempotency_in_progress, {}, Duration{1s}}};
    return *entry.answer;
}

void Idempotency::finish(const AcquireRequest& request, const AcquireAnswer& answer, Instant now) {
    const Name name = name_of(request);
    const auto found = entries_.find(name);
    if (found == entries_.end()) return;
    if (!worth_keeping(answer)) {
        entries_.erase(found);
        return;
    }
    found->second.answer = std::make_unique<const AcquireAnswer>(answer);
    ages_.push_back({now, name, bytes_of(answer)});
    bytes_ += ages_.back().bytes;
}

void Idempotency::forget(Instant now) {
    while (!ages_.empty() && (now >= ages_.front().at + kept || ages_.size() >= most || bytes_ >= max_bytes)) {
        bytes_ -= ages_.front().bytes;
        entries_.erase(ages_.front().name);
        ages_.pop_front();
    }
}

}  // namespace holdfast::authority
