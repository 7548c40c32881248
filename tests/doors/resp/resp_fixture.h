#pragma once

#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "authority/authority.h"
#include "codec/resp/resp_value.h"
#include "doors/resp/resp_door.h"
#include "store/memory/memory_store.h"

namespace holdfast::doors::resp {

/// A client that sends whatever it is told, byte for byte, over a blocking socket on loopback.
class RespTestClient {
 public:
    explicit RespTestClient(int port, int receive_buffer = 0);
    ~RespTestClient();
    RespTestClient(RespTestClient&& other) noexcept;
    RespTestClient(const RespTestClient&) = delete;

    void send(std::string_view bytes);
    /// Like send(), but false if the other end has gone.
    bool try_send(std::string_view bytes);
    void end_sending();
    void close();

    /// The next reply or push. Fails the test if the connection ends instead.
    codec::resp::Value read();
    /// True if the other end closes before another reply comes.
    bool ends();
    /// Sends a command as an array of bulk strings.
    void command(std::initializer_list<std::string_view> words);
    codec::resp::Value ask(std::initializer_list<std::string_view> words);
    codec::resp::Value ask(const std::vector<std::string>& words);

 private:
    bool fill();

    int socket_ = -1;
    std::string buffer_;
    codec::resp::ValueReader reader_;
};

/// Says that everything is on disk.
class RespTestDurable final : public store::Durable {
 public:
    void reserve_tokens(lease::Token, Callback<Result<void>> done) override { done({}); }
    void submit(store::Change, std::optional<store::AuditEntry>, Callback<Result<void>> done) override { done({}); }
};

/// A RESP door with a real authority and a memory store behind it, on a loop and a thread of its own. Time stands still
/// until the test moves it; only the connections' timeouts run on the real clock.
class TestRespDoor {
 public:
    explicit TestRespDoor(RespDoorOptions options = {.address = "127.0.0.1:0", .version = "test"});
    ~TestRespDoor();

    RespTestClient connect(int receive_buffer = 0) const { return RespTestClient(port_, receive_buffer); }

    /// Runs on the loop's thread, and waits for it.
    void run(const std::function<void()>& function);
    void advance(Duration by);
    /// Lets the loop run until this is true, which is asked on the loop's thread. Fails the test if it never is.
    void wait_until(const std::function<bool()>& condition);
    void wait_for_waiters(std::size_t count);
    void wait_for_leases(std::size_t count);
    /// Stops the door as the server does; returns when it is done.
    void stop();

    authority::Authority& authority() { return *authority_; }
    const RespDoor& door() const { return *door_; }
    /// How often the clock was read.
    std::uint64_t turns() const { return turns_; }

 private:
    struct Loop;
    std::unique_ptr<Loop> loop_;
    RespTestDurable durable_;
    Instant now_;
    std::atomic<std::uint64_t> turns_ = 0;
    std::unique_ptr<authority::Authority> authority_;
    std::unique_ptr<store::memory::MemoryStore> store_;
    std::unique_ptr<RespDoor> door_;
    int port_ = 0;

    void tell_time();
};

/// What a map, or in RESP2 a flat array, has under this name. Fails the test if it has not.
const codec::resp::Value& field(const codec::resp::Value& map, std::string_view name);
/// The first word of an error; empty for what is none.
std::string code_of(const codec::resp::Value& value);
/// The token of a lease that was granted just now.
std::int64_t take(RespTestClient& client, std::string_view resource, std::string_view holder);

}  // namespace holdfast::doors::resp
