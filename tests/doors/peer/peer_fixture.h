#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "doors/peer/peer_door.h"

namespace holdfast::doors::peer {

/// Runs the loop until it holds; false if it does not within a minute.
bool run_until(boost::asio::io_context& loop, const std::function<bool()>& holds);

/// How a node of the test differs from the others.
struct TestNodeOptions {
    std::string secret = "the secret of the test's members";
    std::vector<std::string> ids = {"a", "b", "c"};
    store::quorum::BootNumber boot = 1;
    Duration longest_ttl = 5min;
    double rho = 0.01;
    ProtocolVersions protocol{};
    Duration silent_for{};
    Founders* founders = nullptr;
    PeerDoorLimits limits{};
};

/// A door, and all that it has told. Nodes connect to those after them, so make them in the order c, b, a, and tell
/// each where those after it are.
class TestNode final : Node {
 public:
    using Addresses = std::map<store::quorum::NodeIndex, std::string>;
    TestNode(boost::asio::io_context& loop, store::quorum::NodeIndex node, const Addresses& others,
             TestNodeOptions options = {});

    PeerDoor& door() { return *door_; }
    const std::string& address() const { return address_; }  ///< where it listens
    PeerStatus status(store::quorum::NodeIndex peer) const { return door_->status().peers.at(peer); }
    bool connected(store::quorum::NodeIndex peer) const { return status(peer).boot.has_value(); }
    bool logged(std::string_view text) const;
    void say(store::quorum::NodeIndex to, store::quorum::QuorumMessage message);
    /// A message to tell apart from others by its number.
    void say_number(store::quorum::NodeIndex to, std::uint64_t number, std::size_t bytes = 0);
    std::vector<std::uint64_t> numbers_from(store::quorum::NodeIndex peer) const;

    std::map<store::quorum::NodeIndex, std::vector<codec::peer::Message>> heard;
    std::map<store::quorum::NodeIndex, std::vector<std::optional<store::quorum::BootNumber>>> lives;
    std::map<store::quorum::NodeIndex, std::vector<store::quorum::LifeMark>> told;  ///< of lives, by who told it last
    std::size_t found_old = 0;
    std::vector<std::string> lines;
    /// Called when messages have come.
    std::function<void(Life, const std::vector<codec::peer::Message>&)> on_heard;

 private:
    void on_peer(store::quorum::NodeIndex peer, std::optional<store::quorum::BootNumber> boot) override;
    void on_messages(Life from, std::vector<codec::peer::Message> messages) override;
    void on_silence(store::quorum::NodeIndex, Duration) override {}
    void on_lives(store::quorum::NodeIndex peer, const std::vector<store::quorum::LifeMark>& said) override;
    void on_found_old() override { ++found_old; }
    Duration silent_for() override { return silent_for_; }
    void log(std::string_view line, bool) override { lines.emplace_back(line); }

    store::quorum::NodeIndex node_;
    store::quorum::BootNumber boot_;
    Duration silent_for_;
    std::unique_ptr<PeerDoor> door_;
    std::string address_;
};

/// What lies between two nodes: passes on what it is given, unless it is told otherwise.
class TestWire {
 public:
    enum class Way : std::uint8_t { there, back };
    TestWire(boost::asio::io_context& loop, std::string target);
    ~TestWire();

    const std::string& address() const;
    /// Where new connections lead; empty: they are closed.
    void lead_to(std::string target);
    /// Sees and may change all bytes.
    void change(std::function<void(Way, std::string& bytes)> change);
    /// Passes nothing on any more, on the connections there are, and reads nothing.
    void freeze(Way way);
    /// Ends one way of the connections there are, and leaves the other.
    void half_close(Way way);
    void cut();  ///< closes all connections
    /// Forgets the connections there are without closing them: neither end hears anything of the other any more.
    void lose_sight();
    std::size_t accepted() const;

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

/// One who connects to a door and sends whatever it likes.
class TestStranger {
 public:
    TestStranger(boost::asio::io_context& loop, const std::string& address);
    ~TestStranger();

    void send(std::string_view bytes);
    const std::string& received() const;
    bool closed() const;

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

/// Three nodes on one loop, a to b, a to c and b to c each over a wire of its own.
class PeerTest : public testing::Test {
 protected:
    void start(const TestNodeOptions& options = {});
    void start_c(const TestNodeOptions& options);
    void start_b(const TestNodeOptions& options);
    void start_a(const TestNodeOptions& options);
    bool all_connected() const;
    bool until(const std::function<bool()>& holds) { return run_until(loop, holds); }
    /// As long as it takes for messages to go from one to the other and back.
    void settle(TestNode& one, store::quorum::NodeIndex one_index, TestNode& other,
                store::quorum::NodeIndex other_index);

    boost::asio::io_context loop;
    TestWire a_to_b{loop, ""}, a_to_c{loop, ""}, b_to_c{loop, ""};
    std::unique_ptr<TestNode> a, b, c;
};

}  // namespace holdfast::doors::peer
