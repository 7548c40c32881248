#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <thread>

#include "base/code.h"
#include "base/fd.h"
#include "base/result.h"
#include "base/wakeup.h"
#include "cli/app_commands.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/screen.h"
#include "cli/stop_on_signal.h"
#include "discovery/publisher/dial.h"
#include "discovery/publisher/splice.h"
#include "net/listener.h"

namespace holdfast::cli {

namespace {

using Buffer = std::array<char, 64 * 1024>;

/// Copies standard input to the socket and the socket to standard output until both have ended. The end of standard
/// input is passed on, and the answer is still copied.
class Copier {
 public:
    explicit Copier(Fd socket) : socket_(std::move(socket)) {}

    /// The error is `stream_broken` if one of them broke.
    Result<void> run() {
        std::signal(SIGPIPE, SIG_IGN);
        {
            const std::jthread upward{[this] { send_input(); }};
            receive_output();
        }
        if (error_ == 0) return {};
        return Error{Code::stream_broken, fmt::format("the stream broke: {}", std::strerror(error_))};
    }

 private:
    void send_input() {
        Buffer buffer;
        while (wait_for_input()) {
            const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
            if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
            if (got < 0) return fail(errno);
            if (got == 0) {
                ::shutdown(socket_.get(), SHUT_WR);
                return;
            }
            const auto send = [this](const char* data, std::size_t size) {
                return ::send(socket_.get(), data, size, MSG_NOSIGNAL);
            };
            if (!write_all({buffer.data(), static_cast<std::size_t>(got)}, send)) return fail(errno);
        }
    }

    void receive_output() {
        Buffer buffer;
        for (;;) {
            const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) return fail(errno);
            if (got == 0) return;
            const auto write = [](const char* data, std::size_t size) { return ::write(STDOUT_FILENO, data, size); };
            if (!write_all({buffer.data(), static_cast<std::size_t>(got)}, write)) return fail(errno);
        }
    }

    /// False once the other direction has broken: standard input may never end.
    bool wait_for_input() const {
        pollfd waiting[]{{STDIN_FILENO, POLLIN, 0}, {broken_.fd(), POLLIN, 0}};
        while (::poll(waiting, 2, -1) < 0 && errno == EINTR) {
        }
        return waiting[1].revents == 0;
    }

    template <class Write>
    static bool write_all(std::string_view bytes, Write write) {
        while (!bytes.empty()) {
            const ssize_t wrote = write(bytes.data(), bytes.size());
            if (wrote < 0 && errno == EINTR) continue;
            if (wrote < 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(wrote));
        }
        return true;
    }

    void fail(int error) {
        int none = 0;
        error_.compare_exchange_strong(none, error);
        ::shutdown(socket_.get(), SHUT_RDWR);
        broken_.notify();
    }

    const Fd socket_;
    const Wakeup broken_;
    std::atomic<int> error_ = 0;
};

constexpr Duration connect_timeout = 15s;

/// What the user can do about the error.
std::string_view advice_on(const ErrorCode& code) {
    if (code == Code::unreachable)
        return "; start a server with 'holdfast serve' or say where its relay is with --relay";
    if (code == Code::unknown_service) return "; 'holdfast discover' lists the services";
    return "";
}

int fail_to_connect(const Screen& screen, const Error& error) {
    screen.complain(Error{error.code, error.message + std::string(advice_on(error.code))});  // stdout is the stream's
    return error.code == Code::refused ? exit_not_now
                                       : exit_code_of(error.code);  // refused by a publisher that is there
}

/// Lets programs without relay support connect to a service: each connection to a local port becomes a stream.
class Gateway {
 public:
    Gateway(const Arguments& arguments, const Screen& screen)
        : given_(arguments.service_connect),
          relays_(relays_of(given_.relay, arguments.common)),
          screen_(screen),
          listener_(loop_, [this](discovery::publisher::Socket local) { accept(std::move(local)); }) {}

    int run() {
        const auto bound = listener_.listen(given_.listen);
        if (!bound) {
            screen_.complain(bound.error());
            return exit_failed;
        }
        const std::string address = net::text_of(*bound);
        if (screen_.json())
            screen_.show(JsonValue::object({{"listening", address}, {"service", given_.name}}));
        else
            screen_.note(fmt::format("{} is reached at {}", given_.name, address));
        const StopOnSignal stop{[this] { loop_.stop(); }};
        loop_.run();
        return exit_ok;
    }

 private:
    void accept(discovery::publisher::Socket local) {
        if (streams_ >= given_.streams) return refuse(local, "too many streams");
        ++streams_;
        const auto kept = std::make_shared<discovery::publisher::Socket>(std::move(local));
        discovery::publisher::dial_service(
            loop_, relays_, given_.name, connect_timeout,
            [this, kept](discovery::publisher::StreamResult result) {
                if (auto* stream = std::get_if<discovery::publisher::Socket>(&result))
                    return discovery::publisher::splice(std::move(*stream), std::move(*kept), [this] { --streams_; });
                --streams_;
                const auto& failed = std::get<discovery::StreamFailed>(result);
                refuse(*kept, failed.message.empty() ? std::string(failed.code.name()) : failed.message);
            },
            [this](const client::ServerAddress& relay) { try_last(relay); });
    }

    /// Moves a failed relay to the end, so that the next stream need not wait for it.
    void try_last(const client::ServerAddress& relay) {
        if (relays_.front().authority() == relay.authority())
            std::rotate(relays_.begin(), relays_.begin() + 1, relays_.end());
    }

    /// Reset, not closed: an orderly close would look like an empty answer.
    void refuse(discovery::publisher::Socket& local, const std::string& why) {
        screen_.note(fmt::format("a connection to {} was refused: {}", given_.name, why));
        boost::system::error_code ignored;
        local.set_option(boost::asio::socket_base::linger(true, 0), ignored);
        local.close(ignored);
    }

    const ServiceConnectArguments& given_;
    std::vector<client::ServerAddress> relays_;  ///< in the order in which they are tried
    const Screen& screen_;
    boost::asio::io_context loop_{1};
    net::Listener listener_;
    std::size_t streams_ = 0;
};

}  // namespace

void add_service_connect_options(CLI::App* command, ServiceConnectArguments& options) {
    const CLI::Validator is_listen{
        [](std::string& text) {
            if (parse_number(text)) text = "127.0.0.1:" + text;
            const std::size_t colon = text.rfind(':');
            const auto port = parse_number(text.substr(colon == std::string::npos ? 0 : colon + 1));
            const bool good = colon != std::string::npos && colon > 0 && port && *port <= 65535;
            return good ? std::string{} : fmt::format("'{}' is not [HOST:]PORT", text);
        },
        "", "address to listen on"};
    command->add_option("NAME", options.name, "the name of the service")->required();
    command
        ->add_option("--listen", options.listen,
                     "open a stream for each connection to this address; default: one stream, on standard input and "
                     "output")
        ->type_name("[HOST:]PORT")
        ->transform(is_listen)
        ->envname("HOLDFAST_CONNECT_LISTEN");
    add_relay(command, options.relay);
    add_streams(command, options.streams)->envname("HOLDFAST_CONNECT_STREAMS");
}

int connect_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    const ServiceConnectArguments& given = arguments.service_connect;
    if (!given.listen.empty()) return Gateway{arguments, screen}.run();
    const auto opened =
        discovery::publisher::open_service(relays_of(given.relay, arguments.common), given.name, connect_timeout);
    if (!opened) return fail_to_connect(screen, opened.error());
    if (const auto copied = Copier{Fd{*opened}}.run(); !copied) {
        screen.complain(copied.error());
        return exit_failed;
    }
    return exit_ok;
}

}  // namespace holdfast::cli
