#include "doors/peer/peer_fixture.h"

namespace holdfast::doors::peer {

bool run_until(boost::asio::io_context& loop, const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (!holds()) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
        loop.restart();
        loop.run_one_for(100ms);
    }
    return true;
}

TestNode::TestNode(boost::asio::io_context& loop, store::quorum::NodeIndex node, const Addresses& others,
                   TestNodeOptions options)
    : node_(node), boot_(options.boot), silent_for_(options.silent_for) {
    Members members;
    members.self = node;
    for (std::size_t index = 0; index < options.ids.size(); ++index) {
        const auto found = others.find(static_cast<store::quorum::NodeIndex>(index));
        members.all.push_back({options.ids[index], found == others.end() ? "127.0.0.1:1" : found->second});
    }
    door_ = std::make_unique<PeerDoor>(PeerDoor::Parts{.loop = loop,
                                                       .node = *this,
                                                       .members = members,
                                                       .listen = "127.0.0.1:0",
                                                       .secret = options.secret,
                                                       .boot = options.boot,
                                                       .longest_ttl = options.longest_ttl,
                                                       .rho = options.rho,
                                                       .seed = node,
                                                       .limits = options.limits,
                                                       .protocol = options.protocol,
                                                       .founders = options.founders});
    const auto bound = door_->start();
    EXPECT_TRUE(bound);
    if (bound) address_ = *bound;
}

void TestNode::on_peer(store::quorum::NodeIndex peer, std::optional<store::quorum::BootNumber> boot) {
    lives[peer].push_back(boot);
}

void TestNode::on_messages(Life from, std::vector<codec::peer::Message> messages) {
    if (on_heard) on_heard(from, messages);
    for (codec::peer::Message& message : messages)
        heard[from.node].push_back(std::move(message));
}

void TestNode::on_lives(store::quorum::NodeIndex peer, const std::vector<store::quorum::LifeMark>& said) {
    told[peer] = said;
}

bool TestNode::logged(std::string_view text) const {
    for (const std::string& line : lines)
        if (line.find(text) != std::string::npos) return true;
    return false;
}

void TestNode::say(store::quorum::NodeIndex to, store::quorum::QuorumMessage message) {
    door_->send(store::quorum::Envelope{node_, to, boot_, status(to).boot.value_or(0), std::move(message)});
}

void TestNode::say_number(store::quorum::NodeIndex to, std::uint64_t number, std::size_t bytes) {
    door_->send(to, consensus::LogMessage(consensus::LogSubmit{number, std::string(bytes, 'x')}));
}

std::vector<std::uint64_t> TestNode::numbers_from(store::quorum::NodeIndex peer) const {
    std::vector<std::uint64_t> numbers;
    const auto found = heard.find(peer);
    if (found == heard.end()) return numbers;
    for (const codec::peer::Message& message : found->second)
        if (const auto* log = std::get_if<consensus::LogMessage>(&message))
            if (const auto* submit = std::get_if<consensus::LogSubmit>(log)) numbers.push_back(submit->number);
    return numbers;
}

void PeerTest::start_c(const TestNodeOptions& options) {
    c.reset();
    c = std::make_unique<TestNode>(loop, store::quorum::NodeIndex{2}, TestNode::Addresses{}, options);
    a_to_c.lead_to(c->address());
    b_to_c.lead_to(c->address());
}

void PeerTest::start_b(const TestNodeOptions& options) {
    b.reset();
    b = std::make_unique<TestNode>(loop, store::quorum::NodeIndex{1}, TestNode::Addresses{{2, b_to_c.address()}},
                                   options);
    a_to_b.lead_to(b->address());
}

void PeerTest::start_a(const TestNodeOptions& options) {
    a.reset();
    a = std::make_unique<TestNode>(loop, store::quorum::NodeIndex{0},
                                   TestNode::Addresses{{1, a_to_b.address()}, {2, a_to_c.address()}}, options);
}

void PeerTest::start(const TestNodeOptions& options) {
    start_c(options);
    start_b(options);
    start_a(options);
    ASSERT_TRUE(until([&] { return all_connected(); }));
}

bool PeerTest::all_connected() const {
    return a->connected(1) && a->connected(2) && b->connected(0) && b->connected(2) && c->connected(0) &&
           c->connected(1);
}

void PeerTest::settle(TestNode& one, store::quorum::NodeIndex one_index, TestNode& other,
                      store::quorum::NodeIndex other_index) {
    static std::uint64_t number = 1'000'000;
    const auto says = [&](TestNode& from, store::quorum::NodeIndex from_index, TestNode& to,
                          store::quorum::NodeIndex to_index) {
        from.say_number(to_index, ++number);
        ASSERT_TRUE(until([&] {
            const auto heard = to.numbers_from(from_index);
            return !heard.empty() && heard.back() == number;
        }));
    };
    says(one, one_index, other, other_index);
    says(other, other_index, one, one_index);
}

}  // namespace holdfast::doors::peer
