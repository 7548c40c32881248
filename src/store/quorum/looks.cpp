#include "store/quorum/looks.h"

#include <iterator>

namespace holdfast::core {
namespace {

const Error no_majority{"unavailable", "no majority of the nodes answered in time"};

}

Looks::Looks(const QuorumConfig& config, Acceptor& acceptor, Mail& mail)
    : config_(config), acceptor_(acceptor), mail_(mail) {}

void Looks::ask(Look look, Instant now, Reply reply) {
    if (stopped_) return reply(no_majority);
    look.number = ++last_number_;
    looking_[look.number].reply = std::move(reply);
    due_.push_back({now + config_.attempt_time, look.number});
    mail_.to_all(look);
    if (const auto seen = acceptor_.look(look)) on_seen(config_.node, *seen);
}

void Looks::on_seen(NodeIndex from, const Seen& seen) {
    const auto found = looking_.find(seen.number);
    if (found == looking_.end() || !found->second.answered.insert(from)) return;
    Looking& looking = found->second;
    looking.sight.cut |= seen.cut;
    std::copy(seen.entries.begin(), seen.entries.end(), std::back_inserter(looking.sight.entries));
    if (looking.answered.size() < config_.majority()) return;
    const auto done = looking_.extract(found);
    done.mapped().reply(std::move(done.mapped().sight));
}

void Looks::advance(Instant now) {
    while (!due_.empty() && (due_.front().at <= now || !looking_.contains(due_.front().number))) {
        auto done = looking_.extract(due_.front().number);
        due_.pop_front();
        if (!done) continue;
        Error why = no_majority;
        why.retry_in = mail_.decides_in(acceptor_.silent_for(), now);
        if (why.retry_in == Duration::zero()) why.retry_in.reset();  // they vote, and were slow
        done.mapped().reply(std::move(why));
    }
}

void Looks::stop() {
    stopped_ = true;
    while (!due_.empty()) {
        auto done = looking_.extract(due_.front().number);
        due_.pop_front();
        if (done) done.mapped().reply(no_majority);
    }
}

Instant Looks::next_due() const {
    return due_.empty() ? Instant::max() : due_.front().at;
}

}  // namespace holdfast::core
