#include "ending_watch.h"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "base/random.h"

namespace holdfast::bench {
namespace {

class EndingWatch {
 public:
    EndingWatch(Peer& peer, std::uint32_t count)
        : peer_(peer),
          first_number_(static_cast<std::uint32_t>(random_seed() % (UINT32_MAX - count))),
          leases_(count),
          ended_(count) {}

    void acquire(const EndOver& wanted);
    void watch();
    Lateness result(Moment now) const;

 private:
    void see(Moment until);

    Peer& peer_;
    std::uint32_t first_number_;
    std::vector<Ending> leases_;
    std::vector<Moment> ended_;  ///< when each was seen to have; 0: it was not
    std::uint32_t seen_ = 0;
    std::vector<SeenEnd> fresh_;
};

/// Those that end first are acquired first, so that there need be no time for all before the first one ends.
void EndingWatch::acquire(const EndOver& wanted) {
    const Moment start = SteadyClock::now() + wanted.first;
    const std::uint32_t batch = peer_.ending_batch();
    for (std::uint32_t done = 0; done < wanted.count; done += batch) {
        const auto some = std::span(leases_).subspan(done, std::min(batch, wanted.count - done));
        const Moment now = SteadyClock::now();
        for (std::uint32_t i = 0; i < some.size(); ++i) {
            const Moment end = start + std::chrono::nanoseconds(wanted.span) * (done + i) / wanted.count;
            some[i].ttl = std::chrono::floor<Milliseconds>(end - now);
            if (some[i].ttl <= Milliseconds(0)) throw std::runtime_error("acquiring them took longer than FIRST");
        }
        peer_.acquire_ending(first_number_ + done, some);
        see({});
    }
}

void EndingWatch::watch() {
    Moment last{};
    for (const Ending& lease : leases_)
        last = std::max(last, lease.answered + lease.ttl);
    while (seen_ < leases_.size() && SteadyClock::now() < last + answer_limit)
        see(last + answer_limit);
}

/// What others let end is told here, too.
void EndingWatch::see(Moment until) {
    fresh_.clear();
    peer_.see_ends(until, fresh_);
    for (const SeenEnd& end : fresh_) {
        const std::uint32_t place = end.number - first_number_;
        if (place >= ended_.size() || ended_[place] != Moment{}) continue;
        ended_[place] = end.at;
        ++seen_;
    }
}

Lateness EndingWatch::result(Moment now) const {
    Lateness found{.seen = seen_};
    for (std::size_t i = 0; i < leases_.size(); ++i) {
        const Ending& lease = leases_[i];
        const Moment end = ended_[i] == Moment{} ? now : ended_[i];
        if (end < lease.asked + lease.ttl) ++found.early;
        const std::chrono::duration<double, std::micro> late = end - lease.answered - lease.ttl;
        found.late_us.push_back(std::max(0.0, late.count()));
    }
    std::sort(found.late_us.begin(), found.late_us.end());
    return found;
}

}  // namespace

Lateness watch_them_end(Peer& peer, const EndOver& wanted) {
    EndingWatch watch(peer, wanted.count);
    const std::string way = peer.watch_ends();
    watch.acquire(wanted);
    watch.watch();
    Lateness found = watch.result(SteadyClock::now());
    found.way = way;
    return found;
}

}  // namespace holdfast::bench
