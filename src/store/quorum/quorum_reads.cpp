#include "store/quorum/quorum_reads.h"

#include <iterator>

namespace holdfast::core {
namespace {

const Error no_majority{"unavailable", "no majority of the nodes answered in time"};

}

QuorumReads::QuorumReads(const QuorumConfig& config, Acceptor& acceptor, PeerTransport& mail)
    : config_(config), acceptor_(acceptor), mail_(mail) {}

void QuorumReads::ask(Look look, Instant now, Reply reply) {
    if (stopped_) return reply(no_majority);
    look.number = ++last_number_;
    looking_[look.number].reply = std::move(reply);
    due_.push_back({now + config_.attempt_time, look.number});
    mail_.to_all(look);
    if (const auto seen = acceptor_.look(look)) on_seen(config_.node, *seen);
}

void QuorumReads::on_seen(NodeIndex from, const Seen& seen) {
    const auto found = looking_.find(seen.number);
    if (found == looking_.end() || !found->second.answered.insert(from)) return;
    Looking& looking = found->second;
    looking.sight.cut |= seen.cut;
    std::copy(seen.entries.begin(), seen.entries.end(), std::back_inserter(looking.sight.entries));
    if (looking.answered.size() < config_.majority()) return;
    const auto done = looking_.extract(found);
    done.mapped().reply(std::move(done.mapped().sight));
}

void QuorumReads::advance(Instant now) {
    while (!due_.empty() && (due_.front().at <= now || !looking_.contains(due_.front().number))) {
        auto done = looking_.extract(due_.front().number);
        due_.pop_front();
        if (!done) continue;
        Error why = no_majority;
        why.retry_in = mail_.decides_in(acceptor_.silent_for(), now);
        if (why.retry_in == Duration::zero()) why.retry_in.reset();  // a majority votes; it was merely slow
        done.mapped().reply(std::move(why));
    }
}

void QuorumReads::stop() {
    stopped_ = true;
    while (!due_.empty()) {
        auto done = looking_.extract(due_.front().number);
        due_.pop_front();
        if (done) done.mapped().reply(no_majority);
    }
}

Instant QuorumReads::next_due() const {
    return due_.empty() ? Instant::max() : due_.front().at;
}

}  // namespace holdfast::core
