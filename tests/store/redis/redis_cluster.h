#pragma once

#include <chrono>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "store/redis/plain_redis.h"
#include "store/redis/slots.h"
#include "support/redis_process.h"

namespace holdfast::store::redis {

/// A Redis Cluster of real nodes, made by hand.
class RedisCluster {
 public:
    struct Shape {
        std::size_t masters = 3;
        std::size_t spare = 0;  ///< in the cluster, without a slot
        std::map<std::size_t, std::vector<std::string>> environments{};
        std::vector<std::string> options{};
    };
    explicit RedisCluster(const Shape& shape) {
        for (std::size_t i = 0; i < shape.masters + shape.spare; ++i) {
            const auto found = shape.environments.find(i);
            bus_ports_.push_back(std::to_string(free_port()));
            std::vector<std::string> options{
                "--cluster-enabled", "yes", "--cluster-node-timeout", "5000", "--cluster-port", bus_ports_.back()};
            options.insert(options.end(), shape.options.begin(), shape.options.end());
            nodes_.push_back(std::make_unique<RedisProcess>(
                options, found == shape.environments.end() ? std::vector<std::string>{} : found->second));
            plain_.push_back(std::make_unique<PlainRedis>(nodes_.back()->port()));
        }
        // Nodes that meet with equal epochs are told apart only while both are masters, and after some time. A replica
        // that takes over with the epoch of its master never gets the slots in the eyes of the others.
        for (std::size_t i = 0; i < size(); ++i)
            expect_ok(plain(i)({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)}));
        for (std::size_t i = 0; i < shape.masters; ++i)
            plain(i)({"CLUSTER", "ADDSLOTSRANGE", std::to_string(i * slot_count / shape.masters),
                      std::to_string((i + 1) * slot_count / shape.masters - 1)});
        for (std::size_t i = 1; i < size(); ++i)
            plain(i)({"CLUSTER", "MEET", "127.0.0.1", std::to_string(nodes_[0]->port()), bus_ports_[0]});
        wait_until_agreed();
    }

    std::size_t size() const { return nodes_.size(); }
    RedisProcess& node(std::size_t index) { return *nodes_[index]; }
    PlainRedis& plain(std::size_t index) { return *plain_[index]; }
    std::string id(std::size_t index) { return plain(index)({"CLUSTER", "MYID"}).text; }
    std::string url() const { return nodes_[0]->url(); }

    std::string nodes_known_to(std::size_t index) { return plain(index)({"CLUSTER", "NODES"}).text; }

    void wait_until_agreed() {
        for (std::size_t i = 0; i < size(); ++i) {
            const auto agrees = [&] {
                const std::string info = plain(i)({"CLUSTER", "INFO"}).text;
                const std::string known = nodes_known_to(i);
                return info.find("cluster_state:ok") != std::string::npos &&
                       info.find("cluster_known_nodes:" + std::to_string(size())) != std::string::npos &&
                       known.find("handshake") == std::string::npos && known.find("disconnected") == std::string::npos;
            };
            const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
            while (!agrees()) {
                if (std::chrono::steady_clock::now() > end) throw std::runtime_error("the cluster did not form");
                ::poll(nullptr, 0, 20);
            }
        }
    }
    /// All of them, with what is in their folders.
    void restart() {
        plain_.clear();
        for (const auto& node : nodes_)
            node->kill();
        for (const auto& node : nodes_) {
            node->start();
            plain_.push_back(std::make_unique<PlainRedis>(node->port()));
        }
        wait_until_agreed();
    }
    void begin_move(std::uint16_t slot, std::size_t from, std::size_t to) {
        const std::string number = std::to_string(slot);
        ASSERT_EQ(plain(to)({"CLUSTER", "SETSLOT", number, "IMPORTING", id(from)}).text, "OK");
        ASSERT_EQ(plain(from)({"CLUSTER", "SETSLOT", number, "MIGRATING", id(to)}).text, "OK");
    }
    void move_key(const std::string& key, std::size_t from, std::size_t to) {
        const auto answer = plain(from)({"MIGRATE", "127.0.0.1", std::to_string(nodes_[to]->port()), key, "0", "5000"});
        ASSERT_TRUE(answer.text == "OK" || answer.text == "NOKEY") << answer.text;
    }
    void end_move(std::uint16_t slot, std::size_t from, std::size_t to) {
        const std::string number = std::to_string(slot);
        for (const auto& answer : plain(from)({"CLUSTER", "GETKEYSINSLOT", number, "1000"}).items)
            move_key(answer.text, from, to);
        ASSERT_EQ(plain(to)({"CLUSTER", "SETSLOT", number, "NODE", id(to)}).text, "OK");
        ASSERT_EQ(plain(from)({"CLUSTER", "SETSLOT", number, "NODE", id(to)}).text, "OK");
    }

 private:
    static void expect_ok(const codec::resp::Value& answer) {
        if (answer.text != "OK") throw std::runtime_error("the cluster was not formed: " + answer.text);
    }

    std::vector<std::unique_ptr<RedisProcess>> nodes_;
    std::vector<std::unique_ptr<PlainRedis>> plain_;
    std::vector<std::string> bus_ports_;
};

}  // namespace holdfast::store::redis
