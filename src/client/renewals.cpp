#include "client/renewals.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/code.h"

namespace holdfast::client {

namespace {

/// Well under the server's limit of 1 MiB for a body, even with JSON escapes.
constexpr std::size_t max_message_bytes = 400'000;
constexpr std::size_t bytes_around_id = 50;
constexpr Duration patience_min = 100ms;

/// The worst of the grants decides: if one is lost, all are (G1).
RenewalBatch::Answer judge(Keeper::Key key, std::span<const RenewReply> replies,
                           const RenewalBatch::Exchange& exchange) {
    std::optional<lease::HolderDeadlines> deadlines;
    const Error* why = nullptr;
    const auto weight = [](const Error& error) {
        return means_lost(error.code) ? 2 : error.code == Code::renewal_barred ? 1 : 0;
    };
    for (const auto& reply : replies) {
        if (const auto* renewed = std::get_if<Renewed>(&reply)) {
            const lease::HolderDeadlines one{lease::TimedAnswer{.sent_at = exchange.sent_at,
                                                                .arrived_at = exchange.arrived_at,
                                                                .timeline = renewed->timing.timeline,
                                                                .ttl = renewed->timing.ttl}};
            deadlines = deadlines ? deadlines->earlier_of(one) : one;
        } else if (const auto& error = std::get<Error>(reply); why == nullptr || weight(error) > weight(*why)) {
            why = &error;
        }
    }
    if (why == nullptr) return {key, RenewalGranted{deadlines.value_or(lease::HolderDeadlines{})}, {}};
    if (weight(*why) > 0) return {key, RenewalRejected{why->code}, *why};
    return {key, RenewalUnanswered{}, *why};
}

}  // namespace

bool RenewalBatch::add(Keeper::Key key, const std::vector<Grant>& grants, HolderInstant end,
                       std::optional<std::uint64_t> progress) {
    std::size_t bytes = bytes_;
    for (const auto& grant : grants)
        bytes += grant.id.size() + bytes_around_id;
    if (!empty() && (bytes > max_message_bytes || names_.leases.size() + grants.size() > max_renewals_per_message))
        return false;
    for (const auto& grant : grants)
        names_.leases.push_back({grant.id, progress});
    parts_.push_back({key, grants.size()});
    bytes_ = bytes;
    first_end_ = std::min(first_end_, end);
    return true;
}

Duration RenewalBatch::patience(HolderInstant now, Duration most) const {
    const Duration left = now < first_end_ ? first_end_ - now : Duration::zero();
    return std::min(most, std::max(left / 3, patience_min));
}

std::vector<RenewalBatch::Answer> RenewalBatch::answers(const Result<std::vector<RenewReply>>& reply,
                                                        const Exchange& exchange) const {
    std::vector<Answer> answers;
    std::size_t from = 0;
    for (const auto& part : parts_) {
        if (reply)
            answers.push_back(judge(part.key, std::span(*reply).subspan(from, part.grants), exchange));
        else if (reply.error().code == Code::stale_epoch)  // for the whole message: a newer incarnation exists
            answers.push_back({part.key, RenewalRejected{reply.error().code}, reply.error()});
        else
            answers.push_back({part.key, RenewalUnanswered{}, reply.error()});
        from += part.grants;
    }
    return answers;
}

}  // namespace holdfast::client
