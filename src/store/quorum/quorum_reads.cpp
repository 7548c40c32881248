#include "store/quorum/quorum_reads.h"

#include <iterator>

namespace holdfast::store::quorum {
namespace {

const Error no_majority{Code::unavailable, "no majority of the nodes answered in time"};

}

QuorumReads::QuorumReads(const QuorumConfig& config, Acceptor& acceptor, PeerTransport& peers)
    : config_(config), acceptor_(acceptor), peers_(peers) {}

void QuorumReads::ask(ReadRequest request, Instant now, Reply reply) {
    if (stopped_) return reply(no_majority);
    request.number = ++last_number_;
    open_[request.number].reply = std::move(reply);
    due_.push_back({now + config_.attempt_time, request.number});
    peers_.to_all(request);
    if (const auto own = acceptor_.answer(request)) on_reply(config_.node, *own);
}

void QuorumReads::on_reply(NodeIndex from, const ReadReply& answer) {
    const auto found = open_.find(answer.number);
    if (found == open_.end() || !found->second.answered.insert(from)) return;
    OpenRead& read = found->second;
    read.result.cut |= answer.cut;
    std::copy(answer.entries.begin(), answer.entries.end(), std::back_inserter(read.result.entries));
    if (read.answered.size() < config_.majority()) return;
    const auto done = open_.extract(found);
    done.mapped().reply(std::move(done.mapped().result));
}

void QuorumReads::advance(Instant now) {
    while (!due_.empty() && (due_.front().at <= now || !open_.contains(due_.front().number))) {
        auto done = open_.extract(due_.front().number);
        due_.pop_front();
        if (!done) continue;
        Error why = no_majority;
        why.retry_in = peers_.decides_in(acceptor_.silent_for(), now);
        if (why.retry_in == Duration::zero()) why.retry_in.reset();  // a majority votes; it was merely slow
        done.mapped().reply(std::move(why));
    }
}

void QuorumReads::stop() {
    stopped_ = true;
    while (!due_.empty()) {
        auto done = open_.extract(due_.front().number);
        due_.pop_front();
        if (done) done.mapped().reply(no_majority);
    }
}

Instant QuorumReads::next_due() const {
    return due_.empty() ? Instant::max() : due_.front().at;
}

}  // namespace holdfast::store::quorum
