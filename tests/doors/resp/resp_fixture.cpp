#include "doors/resp/resp_fixture.h"

#include <arpa/inet.h>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "codec/resp/resp_command.h"

namespace holdfast::doors::resp {
namespace {

constexpr auto patience = 60s;

}  // namespace

// ---- the client ----

RespTestClient::RespTestClient(int port, int receive_buffer) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0) ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    const timeval limit{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        ADD_FAILURE() << "cannot connect";
}

RespTestClient::~RespTestClient() {
    close();
}

RespTestClient::RespTestClient(RespTestClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), buffer_(std::move(other.buffer_)) {}

bool RespTestClient::try_send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

void RespTestClient::send(std::string_view bytes) {
    if (!try_send(bytes)) ADD_FAILURE() << "the connection ended";
}

void RespTestClient::end_sending() {
    ::shutdown(socket_, SHUT_WR);
}

void RespTestClient::close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

bool RespTestClient::fill() {
    char room[65536];
    const ssize_t got = ::recv(socket_, room, sizeof room, 0);
    if (got > 0) buffer_.append(room, static_cast<std::size_t>(got));
    return got > 0;
}

codec::resp::Value RespTestClient::read() {
    while (true) {
        const auto outcome = buffer_.empty() ? codec::resp::ValueReader::Outcome::more : reader_.read(buffer_);
        if (outcome == codec::resp::ValueReader::Outcome::value) {
            codec::resp::Value value = std::move(reader_.value());
            buffer_.erase(0, reader_.size());
            return value;
        }
        if (outcome == codec::resp::ValueReader::Outcome::malformed || !fill()) {
            ADD_FAILURE() << "no reply came: " << reader_.error();
            return {};
        }
    }
}

bool RespTestClient::ends() {
    while (true) {
        if (!buffer_.empty() && reader_.read(buffer_) == codec::resp::ValueReader::Outcome::value) return false;
        if (!fill()) return true;
    }
}

void RespTestClient::command(std::initializer_list<std::string_view> words) {
    std::string bytes;
    codec::resp::write_command(bytes, words);
    send(bytes);
}

codec::resp::Value RespTestClient::ask(std::initializer_list<std::string_view> words) {
    command(words);
    return read();
}

codec::resp::Value RespTestClient::ask(const std::vector<std::string>& words) {
    const std::vector<std::string_view> views(words.begin(), words.end());
    std::string bytes;
    codec::resp::write_command(bytes, views);
    send(bytes);
    return read();
}

// ---- the door ----

struct TestRespDoor::Loop {
    boost::asio::io_context context{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{context.get_executor()};
    std::thread thread;
};

TestRespDoor::TestRespDoor(RespDoorOptions options) : loop_(std::make_unique<Loop>()), now_(Instant{1000s}) {
    authority_ = std::make_unique<authority::Authority>(authority::Authority::Parts{.durable = durable_,
                                                                                    .policy = {},
                                                                                    .tokens_issued = 0,
                                                                                    .wall_ms = 1'763'208'000'000,
                                                                                    .started_at = now_,
                                                                                    .recovering_until = Instant{}});
    store_ = std::make_unique<store::memory::MemoryStore>(authority_->listener(), HashKey{1, 2});
    authority_->use(*store_);
    tell_time();
    door_ = std::make_unique<RespDoor>(loop_->context, *authority_, std::move(options),
                                       net::DoorTurn{[this] { tell_time(); }, [] {}});
    const auto address = door_->listen();
    if (address) port_ = std::stoi(address->substr(address->rfind(':') + 1));
    loop_->thread = std::thread([this] { loop_->context.run(); });
}

TestRespDoor::~TestRespDoor() {
    if (door_) run([this] { door_.reset(); });
    loop_->work.reset();
    loop_->context.stop();
    loop_->thread.join();
}

void TestRespDoor::tell_time() {
    ++turns_;
    while (store_->advance(now_)) {
    }
    authority_->advance(now_);
}

void TestRespDoor::run(const std::function<void()>& function) {
    std::promise<void> done;
    boost::asio::post(loop_->context, [&] {
        function();
        done.set_value();
    });
    if (done.get_future().wait_for(patience) != std::future_status::ready) std::abort();
}

void TestRespDoor::advance(Duration by) {
    run([this, by] {
        now_ += by;
        tell_time();
    });
}

void TestRespDoor::wait_until(const std::function<bool()>& condition) {
    const auto give_up_at = std::chrono::steady_clock::now() + patience;
    bool met = false;
    while (!met && std::chrono::steady_clock::now() < give_up_at) {
        run([&] { met = condition(); });
        if (!met) std::this_thread::yield();
    }
    EXPECT_TRUE(met) << "what was waited for never came";
}

void TestRespDoor::wait_for_waiters(std::size_t count) {
    wait_until([&] { return authority_->waiters() == count; });
}

void TestRespDoor::wait_for_leases(std::size_t count) {
    wait_until([&] { return authority_->active_leases() == count; });
}

void TestRespDoor::stop() {
    std::promise<void> done;
    boost::asio::post(loop_->context, [&] {
        authority_->stop();
        door_->stop([&] { done.set_value(); });
    });
    if (done.get_future().wait_for(patience) != std::future_status::ready) std::abort();
}

// ---- what came ----

const codec::resp::Value& field(const codec::resp::Value& map, std::string_view name) {
    static const codec::resp::Value none;
    for (std::size_t i = 0; i + 1 < map.items.size(); i += 2)
        if (map.items[i].text == name) return map.items[i + 1];
    ADD_FAILURE() << "there is no " << name << " in " << map.text;
    return none;
}

std::string code_of(const codec::resp::Value& value) {
    return value.is_error() ? value.text.substr(0, value.text.find(' ')) : std::string{};
}

std::int64_t take(RespTestClient& client, std::string_view resource, std::string_view holder) {
    return field(client.ask({"LEASE.ACQUIRE", resource, holder, "60000"}), "token").number;
}

}  // namespace holdfast::doors::resp
