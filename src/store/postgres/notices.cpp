#include "store/postgres/notices.h"

#include "base/assert.h"
#include "base/encodings.h"
#include "store/cas/engine.h"

namespace holdfast::store::postgres {
namespace {

constexpr char between = '.';
constexpr std::size_t max_waiting_bytes = 4 * 1024 * 1024;

}  // namespace

static_assert((cas::Engine::notice_bytes + 2) / 3 * 4 <= payload_bytes, "every notice fits into a payload");

std::string payload_of(std::string_view notice) {
    HOLDFAST_ASSERT(notice.size() <= cas::Engine::notice_bytes);
    return to_base64url(notice);
}

std::optional<std::vector<std::string>> notices_in(std::string_view payload) {
    std::vector<std::string> notices;
    for (;;) {
        const std::size_t end = payload.find(between);
        auto notice = from_base64url(payload.substr(0, end));
        if (!notice) return std::nullopt;
        notices.push_back(std::move(*notice));
        if (end == std::string_view::npos) return notices;
        payload.remove_prefix(end + 1);
    }
}

void Notices::add(std::string_view notice) {
    waiting_.push_back(payload_of(notice));
    bytes_ += waiting_.back().size();
    while (bytes_ > max_waiting_bytes) {
        bytes_ -= waiting_.front().size();
        waiting_.pop_front();
    }
}

std::vector<std::string> Notices::take(std::size_t max_payloads) {
    std::vector<std::string> payloads;
    while (!waiting_.empty()) {
        const std::string& next = waiting_.front();
        const bool fits = !payloads.empty() && payloads.back().size() + 1 + next.size() <= payload_bytes;
        if (!fits && payloads.size() == max_payloads) break;
        if (fits)
            payloads.back() += between + next;
        else
            payloads.push_back(next);
        bytes_ -= next.size();
        waiting_.pop_front();
    }
    return payloads;
}

}  // namespace holdfast::store::postgres
