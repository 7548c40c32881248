#include "cli/stdio_stream.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>

namespace holdfast {
namespace {

using Buffer = std::array<char, 64 * 1024>;

class Copier {
 public:
    explicit Copier(Fd socket) : socket_(std::move(socket)), broken_(eventfd(0, EFD_CLOEXEC)) {}

    Result<void> run() {
        std::signal(SIGPIPE, SIG_IGN);
        {
            const std::jthread upward{[this] { send_input(); }};
            receive_output();
        }
        if (error_ == 0) return {};
        return Error{"stream_broken", std::string("the stream broke: ") + std::strerror(error_)};
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
        pollfd waiting[]{{STDIN_FILENO, POLLIN, 0}, {broken_.get(), POLLIN, 0}};
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
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t told = ::write(broken_.get(), &one, sizeof one);
    }

    const Fd socket_;
    const Fd broken_;
    std::atomic<int> error_ = 0;
};

}  // namespace

Result<void> copy_standard_streams(Fd socket) {
    return Copier{std::move(socket)}.run();
}

}  // namespace holdfast
