#include "agreed/nodes.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "server/open_log.h"
#include "store/quorum/quorum_config.h"

namespace holdfast::agreed {

Nodes::Nodes(std::size_t count, lease::Policy first_policy)
    : first_policy_(std::move(first_policy)),
      directory_(std::filesystem::temp_directory_path() / ("holdfast-nodes-" + random_hex(8))) {
    std::filesystem::create_directory(directory_);
    for (std::size_t i = 0; i < count; ++i)
        nodes_.push_back(std::make_unique<Node>());
    for (std::size_t i = 0; i < count; ++i)
        start(i);
    for (std::size_t i = 0; i < count; ++i)
        introduce(i);
    pass(1ms);
}

Nodes::~Nodes() {
    for (const auto& node : nodes_) {
        node->agreement->stop();
        node->store->stop();
    }
    run_posted();
    std::filesystem::remove_all(directory_);
}

void Nodes::start(std::size_t index) {
    Node& node = *nodes_[index];
    std::vector<std::string> members;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        members.push_back(std::string(1, static_cast<char>('a' + i)) + "=localhost:" + std::to_string(7000 + i));
    const auto self = static_cast<store::quorum::NodeIndex>(index);
    const auto post = [this](Callback<> function) {
        const std::lock_guard lock(mutex_);
        posted_.push_back(std::move(function));
    };
    const auto fail = [this](const Error& error) { failures.push_back(error); };
    const Founding founding{first_policy_, members};
    auto opened = server::open_log(
        {.path = directory_ / ("log-" + std::to_string(index)), .post = post, .on_failure = fail}, founding);
    ASSERT_TRUE(opened) << opened.error().message;
    node.agreement = std::make_unique<Agreement>(
        Agreement::Parts{.disk = &node.local,
                         .ttl_max_on_disk = node.local.saved.value_or(first_policy_.ttl_max),
                         .founding = founding,
                         .on_failure = fail,
                         .first_id = random_seed()});
    node.log = std::make_unique<ConsensusLog>(
        ConsensusLog::Parts{.machine = node.agreement->machine(),
                            .node = self,
                            .members = members,
                            .disk = std::move(opened->disk),
                            .found = std::move(opened->found),
                            .send =
                                [this, self](store::quorum::NodeIndex to, consensus::LogMessage message) {
                                    log_flying_.push_back({self, to, std::move(message)});
                                },
                            .seed = random_seed()});
    const Result<void> begun = node.agreement->begin(*node.log);
    ASSERT_TRUE(begun) << begun.error().message;
    node.authority = std::make_unique<authority::Authority>(authority::Authority::Parts{
        .durable = *node.agreement,
        .policy = node.agreement->policy(),
        .tokens_issued = 0,
        .wall_ms = 1000,
        .agents = node.agreement->agents(),
        .first_request = store::quorum::first_request(self, static_cast<store::quorum::BootNumber>(node.boot)),
        .teller = authority::Events::Teller::store});
    node.store = std::make_unique<store::quorum::QuorumStore>(store::quorum::QuorumStore::Parts{
        .config = {.node = self, .members = static_cast<std::uint8_t>(nodes_.size()), .boot = node.boot},
        .listener = node.authority->listener(),
        .hash_key = {1, 2},
        .seed = index,
        .send = [this](store::quorum::Envelope envelope) { flying_.push_back(std::move(envelope)); }});
    node.authority->use(*node.store);
    node.agreement->use(*node.authority);
    node.log->stand(*node.authority);
}

void Nodes::introduce(std::size_t node) {
    for (std::size_t other = 0; other < nodes_.size(); ++other)
        if (other != node)
            nodes_[node]->store->set_peer(static_cast<store::quorum::NodeIndex>(other), nodes_[other]->boot);
}

void Nodes::restart(std::size_t index) {
    Node& node = *nodes_[index];
    node.agreement->stop();
    node.store->stop();
    run_posted();
    node.store.reset();
    node.authority.reset();
    node.log.reset();
    node.agreement.reset();
    ++node.boot;
    start(index);
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        introduce(i);
    pass(1ms);
}

bool Nodes::run_posted() {
    std::deque<Callback<>> posted;
    {
        const std::lock_guard lock(mutex_);
        posted.swap(posted_);
    }
    for (Callback<>& function : posted)
        function();
    return !posted.empty();
}

bool Nodes::deliver() {
    if (!flying_.empty()) {
        const store::quorum::Envelope envelope = std::move(flying_.front());
        flying_.pop_front();
        if (carries(envelope.from, envelope.to)) nodes_[envelope.to]->store->receive(envelope);
        return true;
    }
    if (log_flying_.empty()) return false;
    const LogEnvelope envelope = std::move(log_flying_.front());
    log_flying_.pop_front();
    if (carries(envelope.from, envelope.to)) nodes_[envelope.to]->log->receive(envelope.from, envelope.message);
    return true;
}

void Nodes::turn() {
    for (const auto& node : nodes_) {
        while (node->store->advance(now_)) {
        }
        node->authority->advance(now_);
        node->agreement->advance(now_);
        if (const auto wanted = node->store->acceptor().wants_ceiling())
            node->store->acceptor().raise_token_ceiling(*wanted);
    }
}

void Nodes::pass(Duration time) {
    for (const Instant end = now_ + time; now_ < end; now_ += 1ms) {
        turn();
        bool busy = true;
        while (busy) {
            while (deliver())
                turn();
            for (const auto& node : nodes_)
                node->log->drain();
            busy = run_posted();
        }
    }
}

bool Nodes::until(const std::function<bool()>& happened) {
    for (const Instant end = now_ + 60s; now_ < end && !happened();)
        pass(10ms);
    return happened();
}

void Nodes::cut_off(std::size_t node, bool is_cut) {
    const auto index = static_cast<store::quorum::NodeIndex>(node);
    if (is_cut)
        cut_.insert(index);
    else
        cut_.erase(index);
    for (std::size_t other = 0; other < nodes_.size(); ++other) {
        if (other == node) continue;
        nodes_[other]->log->on_peer(index, !is_cut);
        nodes_[node]->log->on_peer(static_cast<store::quorum::NodeIndex>(other), !is_cut);
    }
}

std::size_t Nodes::leader() {
    std::set<std::optional<store::quorum::NodeIndex>> leaders;
    const auto agree = [&] {
        leaders.clear();
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            if (!cut_.contains(static_cast<store::quorum::NodeIndex>(i))) leaders.insert(log(i).status().leader);
        const auto leads = *leaders.begin();
        return leaders.size() == 1 && leads && !cut_.contains(*leads) && log(*leads).status().leads;
    };
    EXPECT_TRUE(until(agree)) << "nobody leads";
    return leaders.begin()->value_or(0);
}

authority::Answer<lease::Policy> Nodes::change(std::size_t node, const authority::PolicyChange& change) {
    std::optional<authority::Answer<lease::Policy>> answer;
    at(node).change_policy(change, [&](authority::Answer<lease::Policy> given) { answer = std::move(given); },
                           {.address = "192.0.2.1:77"});
    EXPECT_TRUE(until([&] { return answer.has_value(); }));
    return std::move(*answer);
}

bool Nodes::ban(std::size_t node, const std::string& holder) {
    std::optional<bool> banned;
    at(node).ban(holder, {"misbehaves", 5},
                 [&](const authority::Answer<lease::Ban>& answer) { banned = !refusal_of(answer); });
    EXPECT_TRUE(until([&] { return banned.has_value(); }));
    return *banned;
}

authority::Answer<authority::AgentAnswer> Nodes::put_agent(std::size_t node, authority::AgentRequest request) {
    std::optional<authority::Answer<authority::AgentAnswer>> answer;
    at(node).put_agent(std::move(request),
                       [&](authority::Answer<authority::AgentAnswer> given) { answer = std::move(given); });
    EXPECT_TRUE(until([&] { return answer.has_value(); }));
    return std::move(*answer);
}

authority::AcquireAnswer Nodes::acquire(std::size_t node, authority::AcquireRequest request) {
    std::optional<authority::AcquireAnswer> answer;
    at(node).acquire(std::move(request), [&](authority::AcquireAnswer given) { answer = std::move(given); });
    EXPECT_TRUE(until([&] { return answer.has_value(); }));
    return std::move(*answer);
}

}  // namespace holdfast::agreed
