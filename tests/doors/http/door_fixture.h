#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "authority/authority.h"
#include "discovery/directory/directory.h"
#include "doors/http/http_door.h"
#include "doors/http/test_client.h"
#include "keys/controller/controller.h"
#include "store/memory/memory_store.h"

namespace holdfast::doors::http {

/// Says that everything is on disk, or, if told to, that the disk refuses.
class TestDurable final : public store::Durable {
 public:
    bool fails = false;
    std::vector<store::AuditEntry> audited;

    void reserve_tokens(lease::Token ceiling, Callback<Result<void>> done) override;
    void submit(store::Change change, std::optional<store::AuditEntry> audit, Callback<Result<void>> done) override;
    store::AuditPage audit(std::uint64_t after, std::size_t limit) const override;
};

struct DoorSetting {
    HttpDoorOptions options{.address = "127.0.0.1:0", .version = "test"};
    Duration recovering{};
    bool tokens_fail = false;
    lease::Token tokens_issued = 0;
};

/// An HTTP door with a real authority and a memory store behind it, on a loop and a thread of its own. Time stands
/// still until the test moves it; only the connections' timeouts run on the real clock.
class TestDoor {
 public:
    explicit TestDoor(DoorSetting setting = {});
    ~TestDoor();

    TestClient connect(int receive_buffer = 0) const { return TestClient(port_, receive_buffer); }
    int port() const { return port_; }

    /// Runs on the loop's thread, and waits for it.
    void run(const std::function<void()>& function);
    /// Moves time on, and does all that is due by then.
    void advance(Duration by);
    /// Lets the loop run until this is true, which is asked on the loop's thread. Fails the test if it never is.
    void wait_until(const std::function<bool()>& condition);
    void wait_for_waiters(std::size_t count);
    /// Stops the door as the server does; returns when it is done.
    void stop();

    authority::Authority& authority() { return *authority_; }
    keys::controller::Controller& controller() { return *controller_; }
    discovery::directory::Directory& directory() { return *directory_; }
    TestDurable& durable() { return durable_; }
    std::string metrics_text();

 private:
    struct Loop;
    std::unique_ptr<Loop> loop_;
    TestDurable durable_;
    Instant now_;
    std::unique_ptr<authority::Authority> authority_;
    std::unique_ptr<store::memory::MemoryStore> store_;
    std::unique_ptr<keys::controller::Controller> controller_;
    std::unique_ptr<discovery::directory::Directory> directory_;
    std::unique_ptr<HttpDoor> door_;
    int port_ = 0;

    void tell_time();
};

/// The bytes of a request for how the server is, and of one for a plain lock.
std::string health_request();
std::string acquire_request(const std::string& holder, const std::string& resource, int wait_ms = 0);

/// The lease id of a plain lock taken by `holder`.
std::string take(TestClient& client, const std::string& resource, const std::string& holder,
                 const std::string& more = {});
/// Registers an agent, or a newer life of it.
void register_agent(TestClient& client, const std::string& id, std::int64_t priority, int epoch = 1);
/// Asks for a plain lock; the answer may be anything.
Answer ask_for(TestClient& client, const std::string& resource, const std::string& holder,
               const std::string& more = {});
/// As it stands in a path.
std::string lease_path(const std::string& id, const std::string& verb = {});

}  // namespace holdfast::doors::http
