#include "sim/node_life.h"

#include <algorithm>
#include <memory>

#include "store/quorum/quorum_config.h"

namespace holdfast::sim {
namespace {

constexpr Duration leader_ttl = 5s;                  // short, for many leaders
constexpr std::size_t entries_before_snapshot = 12;  // likewise, for many snapshots

lease::Policy policy_of_worlds() {
    lease::Policy policy;
    policy.ttl_max = longest_ttl;
    policy.ttl_default = 5s;
    return policy;
}

Result<void> fits(const lease::Policy& policy) {
    if (policy.ttl_max <= longest_ttl) return {};
    return Error{Code::invalid_policy, "longer than the members agreed on"};
}

/// Writes, and passes the answer on if that incarnation is still up.
void write_in_life(Disk& disk, const Node::InLife& in_life, Disk::Change change, Callback<Result<void>> done) {
    auto shared = std::make_shared<Callback<Result<void>>>(std::move(done));
    disk.write(std::move(change),
               [in_life, shared](Result<void> written) { in_life([shared, written] { (*shared)(written); }); });
}

std::vector<std::string> member_names(std::size_t count) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i)
        names.push_back("n" + std::to_string(i) + "=node:" + std::to_string(i));
    return names;
}

/// Begins with what is in the log.
agreed::Agreement& begun(agreed::Agreement& agreement, agreed::Log& log) {
    const Result<void> outcome = agreement.begin(log);
    HOLDFAST_ASSERT(outcome);
    return agreement;
}

}  // namespace

void Node::Life::OnThisDisk::reserve_tokens(lease::Token ceiling, Callback<Result<void>> done) {
    const auto raise = [ceiling](OnDisk& disk) { disk.ceiling = std::max(disk.ceiling, ceiling); };
    write_in_life(disk_, in_life_, raise, std::move(done));
}
void Node::Life::OnThisDisk::save_ttl_max(Duration ttl_max, Callback<Result<void>> done) {
    write_in_life(
        disk_, in_life_, [ttl_max](OnDisk& disk) { disk.ttl_max = ttl_max; }, std::move(done));
}

void Node::Life::LogOnThisDisk::write(consensus::LogWrite write, Callback<Result<void>> done) {
    write_in_life(
        disk_, in_life_, [write = std::move(write)](OnDisk& disk) { write_down(disk.log, write); }, std::move(done));
}

agreed::Agreement::Parts Node::Life::agreement_parts(const Start& start) {
    return {.disk = &durable_,
            .ttl_max_on_disk = start.found.ttl_max.value_or(policy_of_worlds().ttl_max),
            .reserves_tokens = false,
            .founding = agreed::Founding{policy_of_worlds(), member_names(start.config.members)},
            .before_policy = [](const lease::Policy& policy, Callback<Result<void>> done) { done(fits(policy)); },
            .first_id = Random(start.seed + 2).next()};
}

agreed::ConsensusLog::Parts Node::Life::log_parts(Start& start) {
    return {.machine = agreement_.machine(),
            .node = start.config.node,
            .members = member_names(start.config.members),
            .disk = std::make_unique<LogOnThisDisk>(start.disk, start.in_life),
            .found = start.found.log,
            .send =
                [this, send = start.send_log](store::quorum::NodeIndex to, consensus::LogMessage message) {
                    if (!buried_) send(to, std::move(message));
                },
            .on_applied = start.on_applied,
            .entries_before_snapshot = entries_before_snapshot,
            .leader_ttl = leader_ttl,
            .seed = start.seed + 2};
}

Node::Life::Life(Start start)
    : now_(start.now),
      durable_(start.disk, start.in_life),
      agreement_(agreement_parts(start)),
      log_(log_parts(start)),
      authority_({.durable = begun(agreement_, log_),
                  .policy = agreement_.policy(),
                  .tokens_issued = 0,
                  .wall_ms = start.wall_ms,
                  .started_at = start.now,
                  .agents = agreement_.agents(),
                  .seed = start.seed,
                  .first_request = store::quorum::first_request(start.config.node, start.config.boot),
                  .teller = authority::Events::Teller::store}),
      store_({.config = start.config,
              .listener = authority_.listener(),
              .hash_key = {start.seed, start.config.node},
              .seed = start.seed + 1,
              .silent_until = start.silent_until,
              // After a clean stop both continue; otherwise only their ceilings are known.
              .highest_token = start.found.saved ? start.found.saved->highest_token : start.found.ceiling,
              .ballots_from = start.found.saved ? start.found.counter : start.found.ceiling,
              .send = [this, send = start.send](store::quorum::Envelope envelope) {
                  if (!buried_) send(std::move(envelope));
              }}) {
    store_.acceptor().raise_token_ceiling(start.found.ceiling);
    authority_.use(store_);
    while (store_.advance(now_)) {
    }
    authority_.advance(now_);
    agreement_.use(authority_);
    log_.stand(authority_);
    if (!start.found.saved) return;
    store_.acceptor().restore_forgotten(start.found.saved->forgotten);
    for (const SavedAcceptor::Register& one : start.found.saved->registers)
        store_.acceptor().restore(one.resource, one.ballots, one.record);
}

void Node::Life::stop() {
    agreement_.stop();
    authority_.stop();
}

void Node::Life::advance(Instant now) {
    now_ = now;
    while (store_.advance(now)) {
    }
    authority_.advance(now);
    agreement_.advance(now);
}

Node::Life::HandOver Node::Life::hand_over() {
    HandOver handed;
    store_.acceptor().for_each_register(
        [&](std::string_view resource, const store::quorum::RegisterBallots& ballots, const lease::Record& record) {
            handed.counter = std::max({handed.counter, ballots.promised.counter, ballots.accepted.counter});
            handed.saved.registers.push_back({std::string(resource), ballots, record});
        });
    handed.saved.forgotten = store_.acceptor().forgotten();
    handed.saved.highest_token = store_.acceptor().highest_token();
    handed.saved.silent_for = store_.acceptor().silent_for();
    handed.counter = std::max(handed.counter, handed.saved.forgotten.counter);
    return handed;
}

void Node::Life::bury() {
    buried_ = true;
    stop();
    for (int second = 0, quiet = 0; second < 600 && quiet < 20; ++second) {
        advance(now_ + 1s);
        quiet = store_.under_way() == 0 && authority_.waiters() == 0 ? quiet + 1 : 0;
    }
}

}  // namespace holdfast::sim
