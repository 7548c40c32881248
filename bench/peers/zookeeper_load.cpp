// Puts load on the servers of a ZooKeeper, by its own C client:
//     zookeeper_load CLIENTS LOCKS_EACH TTL_MS ATTEMPT_MS PORT,PORT,…
// Orders and answers are those of load.h. A client has a session of its own, whose timeout is the TTL. To acquire, it
// creates a node that is ephemeral; to release, it deletes it. To renew is a round trip in the session, as its ping is,
// which renews all that the session holds: one lease or those of a heartbeat.

#include <algorithm>
#include <iostream>
#include <stdexcept>
#include <zookeeper/zookeeper.h>

#include "load.h"
#include "zookeeper_session.h"

namespace holdfast::bench {
namespace {

class ZookeeperLoad;

struct Client {
    ZookeeperLoad* load = nullptr;
    std::uint32_t number = 0;
    std::vector<std::uint16_t> ports;  ///< the first of them is its home
    std::shared_ptr<ZookeeperSession> session;
    std::uint32_t lock = 0;
    std::uint32_t taken = 0;  ///< of the leases to be renewed
    bool again = false;       ///< this acquire was asked for before, and nobody knows what became of it
    bool waiting = false;     ///< for an answer
    bool done = true;
    SteadyClock::time_point asked, resume_at;
};

class ZookeeperLoad final : public Load {
 public:
    explicit ZookeeperLoad(Setting setting);
    void run(Operation operation, SteadyClock::time_point until, Score& score) override;

 private:
    bool all_hold(std::uint32_t leases) const override;
    bool must_acquire(const Client& client) const;
    std::string path_of(const Client& client) const;
    void connect(Client& client);
    void begin(Client& client);
    void ask(Client& client);
    void acquire(Client& client);
    void release(Client& client);
    void renew(Client& client);
    void sent(Client& client, int refused);
    void on_acquired(Client& client, int code);
    void on_released(Client& client, int code);
    void on_renewed(Client& client, int code);
    void succeed(Client& client);
    void fail(Client& client, int code);
    void finish(Client& client);
    void look_at_the_time();

    Setting setting_;
    std::vector<Client> clients_;
    ZookeeperLoop loop_;
    Operation operation_ = Operation::cycle;
    SteadyClock::time_point until_;
    Score* score_ = nullptr;
    std::size_t open_ = 0;
};

Client& client_of(const void* data) {
    return *static_cast<Client*>(const_cast<void*>(data));
}

ZookeeperLoad::ZookeeperLoad(Setting setting) : setting_(std::move(setting)), clients_(setting_.clients) {
    for (std::uint32_t i = 0; i < setting_.clients; ++i) {
        Client& client = clients_[i];
        client.load = this;
        client.number = i;
        client.ports = setting_.ports;
        std::rotate(client.ports.begin(), client.ports.begin() + i % client.ports.size(), client.ports.end());
        connect(client);
    }
}

void ZookeeperLoad::connect(Client& client) {
    client.session = std::make_shared<ZookeeperSession>(client.ports, std::chrono::milliseconds(setting_.ttl_ms));
    client.taken = 0;
    loop_.forget_those_over();
    loop_.add(client.session);
}

bool ZookeeperLoad::all_hold(std::uint32_t leases) const {
    return std::all_of(clients_.begin(), clients_.end(),
                       [&](const Client& each) { return each.session->connected() && each.taken >= leases; });
}

bool ZookeeperLoad::must_acquire(const Client& client) const {
    return operation_ == Operation::cycle || client.taken < leases_to_hold(operation_);
}

/// What it acquires, releases or looks at.
std::string ZookeeperLoad::path_of(const Client& client) const {
    const std::uint32_t held = setting_.locks_each + (must_acquire(client) ? client.taken : 0);
    return "/" + setting_.lock_name(client.number, operation_ == Operation::cycle ? client.lock : held);
}

void ZookeeperLoad::run(Operation operation, SteadyClock::time_point until, Score& score) {
    operation_ = operation;
    until_ = until;
    score_ = &score;
    open_ = clients_.size();
    for (Client& client : clients_) {
        client.done = false;
        begin(client);
    }
    while (open_ > 0) {
        loop_.serve(SteadyClock::now() + std::chrono::milliseconds(2));
        look_at_the_time();
    }
}

void ZookeeperLoad::begin(Client& client) {
    client.asked = SteadyClock::now();
    client.again = false;
    if (client.asked >= until_) return finish(client);
    ask(client);
}

void ZookeeperLoad::finish(Client& client) {
    client.done = true;
    --open_;
}

/// Without a connection it waits; the library looks for one, at the next server if need be.
void ZookeeperLoad::ask(Client& client) {
    if (client.session->over()) connect(client);
    if (!client.session->connected()) {
        client.resume_at = SteadyClock::now() + retry_pause;
        return;
    }
    if (must_acquire(client)) return acquire(client);
    renew(client);
}

void ZookeeperLoad::sent(Client& client, int refused) {
    client.waiting = refused == ZOK;
    if (refused != ZOK) fail(client, refused);
}

void ZookeeperLoad::acquire(Client& client) {
    const auto on_answer = [](int code, const char*, const void* data) {
        client_of(data).load->on_acquired(client_of(data), code);
    };
    const std::string holder = setting_.holder_name(client.number);
    sent(client, zoo_acreate(client.session->handle(), path_of(client).c_str(), holder.data(),
                             static_cast<int>(holder.size()), &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, on_answer, &client));
}

void ZookeeperLoad::release(Client& client) {
    const auto on_answer = [](int code, const void* data) { client_of(data).load->on_released(client_of(data), code); };
    sent(client, zoo_adelete(client.session->handle(), path_of(client).c_str(), -1, on_answer, &client));
}

void ZookeeperLoad::renew(Client& client) {
    const auto on_answer = [](int code, const Stat*, const void* data) {
        client_of(data).load->on_renewed(client_of(data), code);
    };
    sent(client, zoo_aexists(client.session->handle(), path_of(client).c_str(), 0, on_answer, &client));
}

void ZookeeperLoad::on_acquired(Client& client, int code) {
    client.waiting = false;
    if (code != ZOK && !(code == ZNODEEXISTS && client.again)) return fail(client, code);
    if (operation_ == Operation::cycle) return release(client);
    ++client.taken;
    begin(client);
}

void ZookeeperLoad::on_released(Client& client, int code) {
    client.waiting = false;
    if (code != ZOK) return fail(client, code);
    succeed(client);
}

void ZookeeperLoad::on_renewed(Client& client, int code) {
    client.waiting = false;
    if (code != ZOK) return fail(client, code);
    succeed(client);
}

void ZookeeperLoad::succeed(Client& client) {
    const auto now = SteadyClock::now();
    if (now <= until_) score_->good(client.asked, now);
    client.lock = (client.lock + 1) % setting_.locks_each;
    begin(client);
}

/// When the session ends with the program, nothing is asked any more.
void ZookeeperLoad::fail(Client& client, int code) {
    if (code == ZCLOSING) return;
    score_->retried(zookeeper_error(code));
    client.again = true;
    client.resume_at = SteadyClock::now() + retry_pause;
}

void ZookeeperLoad::look_at_the_time() {
    const auto now = SteadyClock::now();
    for (Client& client : clients_) {
        if (client.done || client.waiting || now < client.resume_at) continue;
        if (now < until_) {
            ask(client);
        } else {
            score_->still_waiting(client.asked, until_);
            finish(client);
        }
    }
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
    using namespace holdfast::bench;
    try {
        ZookeeperLoad load(read_setting({argv + 1, argv + argc}, 0));
        return serve_orders(load);
    } catch (const std::exception& error) {
        std::cerr << argv[0] << ": " << error.what() << '\n';
        return 1;
    }
}
