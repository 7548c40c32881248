// Puts load on servers of Holdfast, by HTTP or by the protocol of Redis, or on a Redis:
//     lock_load http|resp CLIENTS LOCKS_EACH TTL_MS ATTEMPT_MS PORT,PORT,…
//     lock_load redis RENEW_SHA RELEASE_SHA CLIENTS LOCKS_EACH TTL_MS ATTEMPT_MS PORT
// Orders and answers are those of load.h.

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <functional>
#include <iostream>
#include <netinet/tcp.h>
#include <stdexcept>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dialect.h"
#include "load.h"

namespace holdfast::bench {
namespace {

struct Client {
    std::uint32_t number = 0;
    std::size_t node = 0;  ///< where it asks
    int fd = -1;
    bool asking = false;  ///< else it pauses until `resume_at`, or has nothing to do
    std::string in;
    std::unique_ptr<Dialect> dialect;
    std::vector<Lock> locks;
    std::size_t at = 0;
    std::vector<Lock> held;  ///< to be renewed
    std::size_t taken = 0;   ///< as many of them are
    Step step = Step::acquire;
    SteadyClock::time_point asked;     ///< the operation that is under way
    SteadyClock::time_point deadline;  ///< of the attempt
    SteadyClock::time_point resume_at;
    bool done = true;
};

class LockLoad final : public Load {
 public:
    using MakeDialect = std::function<std::unique_ptr<Dialect>(std::uint32_t ttl_ms)>;

    LockLoad(Setting setting, const MakeDialect& make_dialect);
    ~LockLoad() override;
    void run(Operation operation, SteadyClock::time_point until, Score& score) override;

 private:
    bool all_hold(std::uint32_t leases) const override;
    bool connect(Client& client);
    void disconnect(Client& client);
    void begin(Client& client);
    void ask(Client& client);
    void receive(Client& client);
    void succeed(Client& client, const Dialect::Answer& answer);
    void fail(Client& client, std::string_view why);
    void look_at_the_time();
    std::span<Lock> locks_of(Client& client);

    Setting setting_;
    int poll_fd_ = -1;
    std::vector<Client> clients_;
    Operation operation_ = Operation::cycle;
    SteadyClock::time_point until_;
    SteadyClock::time_point now_;
    Score* score_ = nullptr;
    std::size_t open_ = 0;  ///< clients that are not done
};

LockLoad::LockLoad(Setting setting, const MakeDialect& make_dialect)
    : setting_(std::move(setting)), poll_fd_(epoll_create1(EPOLL_CLOEXEC)), clients_(setting_.clients) {
    if (poll_fd_ < 0) throw std::runtime_error("epoll_create1");
    for (std::uint32_t i = 0; i < setting_.clients; ++i) {
        Client& client = clients_[i];
        client.number = i;
        client.node = i % setting_.ports.size();
        client.dialect = make_dialect(setting_.ttl_ms);
        for (std::uint32_t lock = 0; lock < setting_.locks_each + leases_of_a_heartbeat; ++lock) {
            auto& locks = lock < setting_.locks_each ? client.locks : client.held;
            locks.push_back({setting_.lock_name(i, lock), setting_.holder_name(i), 0});
        }
    }
}

LockLoad::~LockLoad() {
    for (Client& client : clients_)
        disconnect(client);
    close(poll_fd_);
}

/// On loopback it is there at once, or refused at once.
bool LockLoad::connect(Client& client) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(setting_.ports[client.node]);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    client.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client.fd < 0) throw std::runtime_error("socket");
    if (::connect(client.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return false;
    const int on = 1;
    setsockopt(client.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_event event{.events = EPOLLIN, .data = {.u32 = client.number}};
    return epoll_ctl(poll_fd_, EPOLL_CTL_ADD, client.fd, &event) == 0;
}

void LockLoad::disconnect(Client& client) {
    if (client.fd >= 0) close(client.fd);
    client.fd = -1;
}

bool LockLoad::all_hold(std::uint32_t leases) const {
    return std::all_of(clients_.begin(), clients_.end(), [&](const Client& each) { return each.taken >= leases; });
}

/// What the step that is under way is about.
std::span<Lock> LockLoad::locks_of(Client& client) {
    if (operation_ == Operation::cycle) return {&client.locks[client.at], 1};
    if (client.step == Step::acquire) return {&client.held[client.taken], 1};
    return {client.held.data(), leases_to_hold(operation_)};
}

void LockLoad::run(Operation operation, SteadyClock::time_point until, Score& score) {
    operation_ = operation;
    until_ = until;
    score_ = &score;
    open_ = clients_.size();
    now_ = SteadyClock::now();
    for (Client& client : clients_) {
        client.done = false;
        begin(client);
    }
    epoll_event events[64];
    while (open_ > 0) {
        const int ready = epoll_wait(poll_fd_, events, std::size(events), 2);
        for (int i = 0; i < ready; ++i)
            receive(clients_[events[i].data.u32]);
        look_at_the_time();
    }
}

void LockLoad::begin(Client& client) {
    now_ = SteadyClock::now();
    client.asking = false;
    if (now_ >= until_) {
        client.done = true;
        --open_;
        return;
    }
    client.asked = now_;
    client.step =
        operation_ != Operation::cycle && client.taken >= leases_to_hold(operation_) ? Step::renew : Step::acquire;
    ask(client);
}

void LockLoad::ask(Client& client) {
    client.deadline = SteadyClock::now() + setting_.attempt_time;
    client.asking = true;
    client.in.clear();
    if (client.fd < 0 && !connect(client)) return fail(client, std::strerror(errno));
    std::string out;
    client.dialect->ask(out, client.step, locks_of(client));
    const ssize_t sent = send(client.fd, out.data(), out.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(out.size())) fail(client, "the connection is broken");
}

void LockLoad::receive(Client& client) {
    if (client.fd < 0) return;
    char buffer[16 << 10];
    const ssize_t got = recv(client.fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return client.asking ? fail(client, "the connection is broken") : disconnect(client);
    client.in.append(buffer, static_cast<std::size_t>(got));
    if (!client.asking) return disconnect(client);
    const auto answer = client.dialect->read(client.in, client.step);
    if (answer.kind == Dialect::Answer::Kind::good) succeed(client, answer);
    if (answer.kind == Dialect::Answer::Kind::bad) fail(client, answer.why);
}

void LockLoad::succeed(Client& client, const Dialect::Answer& answer) {
    if (client.step == Step::acquire) {
        locks_of(client).front().token = answer.token;
        if (operation_ != Operation::cycle) {
            ++client.taken;
            return begin(client);
        }
        client.step = Step::release;
        return ask(client);
    }
    const auto now = SteadyClock::now();
    if (now <= until_) score_->good(client.asked, now);
    client.at = (client.at + 1) % client.locks.size();
    begin(client);
}

/// The next node, after a pause. Leases that are gone, as after their client was cut off for long, are taken anew.
void LockLoad::fail(Client& client, std::string_view why) {
    score_->retried(why);
    disconnect(client);
    client.node = (client.node + 1) % setting_.ports.size();
    if (client.step == Step::renew && why.find("LEASE_") != why.npos) {
        client.step = Step::acquire;
        client.taken = 0;
    }
    client.asking = false;
    client.resume_at = SteadyClock::now() + retry_pause;
}

void LockLoad::look_at_the_time() {
    now_ = SteadyClock::now();
    for (Client& client : clients_) {
        if (client.done) continue;
        if (client.asking && now_ >= client.deadline) fail(client, "no answer in time");
        if (client.asking || now_ < client.resume_at) continue;
        if (now_ < until_) {
            ask(client);
        } else {
            score_->still_waiting(client.asked, until_);
            client.done = true;
            --open_;
        }
    }
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
    using namespace holdfast::bench;
    try {
        const std::vector<std::string> arguments(argv + 1, argv + argc);
        const std::string speaks = arguments.empty() ? "" : arguments[0];
        LockLoad::MakeDialect dialect = speaks == "http" ? http_dialect : resp_dialect;
        std::size_t first = 1;
        if (speaks == "redis" && arguments.size() > 3) {
            const RedisScripts scripts{arguments[1], arguments[2]};
            dialect = [scripts](std::uint32_t ttl_ms) { return redis_dialect(scripts, ttl_ms); };
            first = 3;
        } else if (speaks != "http" && speaks != "resp") {
            throw std::runtime_error("expected http|resp|redis … CLIENTS LOCKS_EACH TTL_MS ATTEMPT_MS PORT,…");
        }
        LockLoad load(read_setting(arguments, first), dialect);
        return serve_orders(load);
    } catch (const std::exception& error) {
        std::cerr << "lock_load: " << error.what() << '\n';
        return 1;
    }
}
