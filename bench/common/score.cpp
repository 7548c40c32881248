#include "score.h"

#include <algorithm>
#include <sstream>

namespace holdfast::bench {
namespace {

double seconds(SteadyClock::duration duration) {
    return std::chrono::duration<double>(duration).count();
}

std::string json_text(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e ? ' ' : c;
    }
    return out + '"';
}

}  // namespace

void Score::good(SteadyClock::time_point asked, SteadyClock::time_point answered) {
    microseconds_.push_back(static_cast<float>(1e6 * seconds(answered - asked)));
    longest_wait_ = std::max(longest_wait_, answered - asked);
    longest_gap_ = std::max(longest_gap_, answered - last_good_);
    last_good_ = answered;
    const auto slot = static_cast<std::size_t>((answered - start_) / std::chrono::milliseconds(100));
    if (per_100ms_.size() <= slot) per_100ms_.resize(slot + 1);
    ++per_100ms_[slot];
}

void Score::retried(std::string_view why) {
    if (retries_++ == 0) first_retry_ = why.substr(0, 200);
}

void Score::still_waiting(SteadyClock::time_point asked, SteadyClock::time_point end) {
    longest_wait_ = std::max(longest_wait_, end - asked);
}

double Score::percentile(double share) const {
    if (microseconds_.empty()) return 0;
    return microseconds_[static_cast<std::size_t>(share * static_cast<double>(microseconds_.size() - 1))];
}

std::string Score::to_json(SteadyClock::time_point end) {
    std::sort(microseconds_.begin(), microseconds_.end());
    longest_gap_ = std::max(longest_gap_, end - last_good_);
    std::ostringstream out;
    out << "{\"started\": " << std::fixed << seconds(start_.time_since_epoch())
        << ", \"seconds\": " << seconds(end - start_) << ", \"good\": " << microseconds_.size()
        << ", \"p50_us\": " << percentile(0.5) << ", \"p90_us\": " << percentile(0.9)
        << ", \"p99_us\": " << percentile(0.99) << ", \"p999_us\": " << percentile(0.999)
        << ", \"longest_gap_ms\": " << 1e3 * seconds(longest_gap_)
        << ", \"longest_wait_ms\": " << 1e3 * seconds(longest_wait_) << ", \"retries\": " << retries_
        << ", \"first_retry\": " << json_text(first_retry_) << ", \"per_100ms\": [";
    for (std::size_t i = 0; i < per_100ms_.size(); ++i)
        out << (i > 0 ? "," : "") << per_100ms_[i];
    out << "]}";
    return out.str();
}

}  // namespace holdfast::bench
