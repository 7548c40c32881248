// Puts load on the nodes of a Holdfast cluster, by its HTTP API or by the protocol of Redis:
//     quorum_load http|resp CLIENTS LOCKS_EACH TTL_MS ATTEMPT_MS PORT,PORT,…
// Orders and answers are those of load.h.

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
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
    Lock renewed;
    Step step = Step::acquire;
    SteadyClock::time_point asked;     ///< the operation that is under way
    SteadyClock::time_point deadline;  ///< of the attempt
    SteadyClock::time_point resume_at;
    bool done = true;
};

class HoldfastLoad final : public Load {
 public:
    HoldfastLoad(Setting setting, bool resp);
    ~HoldfastLoad() override;
    void get_ready(Operation operation) override;
    void run(Operation operation, SteadyClock::time_point until, Score& score) override;

 private:
    bool connect(Client& client);
    void disconnect(Client& client);
    void begin(Client& client);
    void ask(Client& client);
    void receive(Client& client);
    void succeed(Client& client, const Dialect::Answer& answer);
    void fail(Client& client, std::string_view why);
    void look_at_the_time();
    Lock& lock_of(Client& client) { return operation_ == Operation::renew ? client.renewed : client.locks[client.at]; }

    Setting setting_;
    int poll_fd_ = -1;
    std::vector<Client> clients_;
    Operation operation_ = Operation::cycle;
    SteadyClock::time_point until_;
    SteadyClock::time_point now_;
    Score* score_ = nullptr;
    std::size_t open_ = 0;  ///< clients that are not done
};

HoldfastLoad::HoldfastLoad(Setting setting, bool resp)
    : setting_(std::move(setting)), poll_fd_(epoll_create1(EPOLL_CLOEXEC)), clients_(setting_.clients) {
    if (poll_fd_ < 0) throw std::runtime_error("epoll_create1");
    for (std::uint32_t i = 0; i < setting_.clients; ++i) {
        Client& client = clients_[i];
        client.number = i;
        client.node = i % setting_.ports.size();
        client.dialect = resp ? resp_dialect(setting_.ttl_ms) : http_dialect(setting_.ttl_ms);
        for (std::uint32_t lock = 0; lock < setting_.locks_each; ++lock)
            client.locks.push_back({setting_.lock_name(i, lock), setting_.holder_name(i), 0});
        client.renewed = {setting_.lock_name(i, setting_.locks_each), setting_.holder_name(i), 0};
    }
}

HoldfastLoad::~HoldfastLoad() {
    for (Client& client : clients_)
        disconnect(client);
    close(poll_fd_);
}

/// On loopback it is there at once, or refused at once.
bool HoldfastLoad::connect(Client& client) {
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

void HoldfastLoad::disconnect(Client& client) {
    if (client.fd >= 0) close(client.fd);
    client.fd = -1;
}

/// Every lock a few times, so that each of them has a history, and a lease to renew.
void HoldfastLoad::get_ready(Operation operation) {
    for (Client& client : clients_)
        client.renewed.token = operation == Operation::renew ? client.renewed.token : 0;
    Score nobody_looks(SteadyClock::now());
    run(operation, SteadyClock::now() + std::chrono::milliseconds(300), nobody_looks);
}

void HoldfastLoad::run(Operation operation, SteadyClock::time_point until, Score& score) {
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

void HoldfastLoad::begin(Client& client) {
    now_ = SteadyClock::now();
    client.asking = false;
    if (now_ >= until_) {
        client.done = true;
        --open_;
        return;
    }
    client.asked = now_;
    client.step = operation_ == Operation::renew && client.renewed.token != 0 ? Step::renew : Step::acquire;
    ask(client);
}

void HoldfastLoad::ask(Client& client) {
    client.deadline = SteadyClock::now() + setting_.attempt_time;
    client.asking = true;
    client.in.clear();
    if (client.fd < 0 && !connect(client)) return fail(client, std::strerror(errno));
    std::string out;
    client.dialect->ask(out, client.step, lock_of(client));
    const ssize_t sent = send(client.fd, out.data(), out.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(out.size())) fail(client, "the connection is broken");
}

void HoldfastLoad::receive(Client& client) {
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

void HoldfastLoad::succeed(Client& client, const Dialect::Answer& answer) {
    if (client.step == Step::acquire) lock_of(client).token = answer.token;
    if (operation_ == Operation::cycle && client.step == Step::acquire) {
        client.step = Step::release;
        return ask(client);
    }
    const auto now = SteadyClock::now();
    if (now <= until_ && (operation_ == Operation::cycle || client.step == Step::renew))
        score_->good(client.asked, now);
    client.at = (client.at + 1) % client.locks.size();
    begin(client);
}

/// The next node, after a pause. A lease that is gone, as after its client was cut off for long, is taken anew.
void HoldfastLoad::fail(Client& client, std::string_view why) {
    score_->retried(why);
    disconnect(client);
    client.node = (client.node + 1) % setting_.ports.size();
    if (client.step == Step::renew && why.find("LEASE_") != why.npos) client.step = Step::acquire;
    client.asking = false;
    client.resume_at = SteadyClock::now() + retry_pause;
}

void HoldfastLoad::look_at_the_time() {
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
    try {
        const std::vector<std::string> arguments(argv + 1, argv + argc);
        if (arguments.empty() || (arguments[0] != "http" && arguments[0] != "resp"))
            throw std::runtime_error("expected http|resp CLIENTS LOCKS_EACH TTL_MS ATTEMPT_MS PORT,…");
        holdfast::bench::HoldfastLoad load(holdfast::bench::read_setting(arguments, 1), arguments[0] == "resp");
        return holdfast::bench::serve_orders(load);
    } catch (const std::exception& error) {
        std::cerr << "quorum_load: " << error.what() << '\n';
        return 1;
    }
}
