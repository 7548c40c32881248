// Streams through a proxy or through the relay:
//   relay_streams backend [RELAY_PORT]                                        what is behind them
//   relay_streams load bytes|streams PORT SERVICE COUNT SECONDS PROXY_PID     COUNT clients at one time, for so long
// With a SERVICE other than `-` the port is a relay's. Prints bytes or streams per second and the CPU of the proxy.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "backend.h"
#include "sockets.h"

namespace holdfast::bench {
namespace {

class Client {
 public:
    Client(int port, const std::string& service) : port_(port) {
        if (service == "-") return;
        discovery::append_frame(discovery::StreamRequest{.name = service}, request_);
        discovery::append_frame(discovery::StreamOpened{}, opened_);
    }

    /// A stream on which the backend was told what to do; the wish goes along with the request.
    int open(char wish) const {
        const int made = connect_to(port_, true);
        const std::string bytes = request_ + wish;
        if (::send(made, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) give_up("nothing can be sent");
        std::string answer(opened_.size(), '\0');
        if (!answer.empty() &&
            (::recv(made, answer.data(), answer.size(), MSG_WAITALL) != static_cast<ssize_t>(answer.size()) ||
             answer != opened_))
            give_up("the relay does not open a stream");
        return made;
    }

 private:
    int port_;
    std::string request_, opened_;
};

void take_bytes(const Client& client, const std::atomic<bool>& stop, std::atomic<std::uint64_t>& done) {
    std::string room(256 * 1024, '\0');
    const int stream = client.open('d');
    while (!stop.load(std::memory_order_relaxed)) {
        const ssize_t got = ::recv(stream, room.data(), room.size(), 0);
        if (got <= 0) give_up("a stream ended early");
        done.fetch_add(static_cast<std::uint64_t>(got), std::memory_order_relaxed);
    }
    ::close(stream);
}

void open_and_close(const Client& client, const std::atomic<bool>& stop, std::atomic<std::uint64_t>& done) {
    while (!stop.load(std::memory_order_relaxed)) {
        const int stream = client.open('e');
        char byte = 0;
        if (::recv(stream, &byte, 1, 0) != 1 || byte != 'e') give_up("a stream brought no echo");
        ::close(stream);
        done.fetch_add(1, std::memory_order_relaxed);
    }
}

int run_load(char** arguments) {
    const bool bytes = std::string_view(arguments[2]) == "bytes";
    const Client client(std::atoi(arguments[3]), arguments[4]);
    const int count = std::atoi(arguments[5]), proxy = std::atoi(arguments[7]);
    const double seconds = std::atof(arguments[6]);
    raise_open_files();
    std::atomic<bool> stop = false;
    std::atomic<std::uint64_t> done = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back([&] { (bytes ? take_bytes : open_and_close)(client, stop, done); });
    std::this_thread::sleep_for(300ms);  // to warm up
    const std::uint64_t before = done.load();
    const double cpu_before = cpu_seconds_of(proxy);
    const auto begun = Clock::now();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    const auto moved = static_cast<double>(done.load() - before);
    const double took = std::chrono::duration<double>(Clock::now() - begun).count();
    const double cpu = cpu_seconds_of(proxy) - cpu_before;
    stop = true;
    for (std::thread& thread : threads)
        thread.join();
    std::printf("{\"per_second\": %.1f, \"cpu_seconds_per_unit\": %.9g}\n", moved / took, moved > 0 ? cpu / moved : 0);
    return 0;
}

}  // namespace
}  // namespace holdfast::bench

int main(int count, char** arguments) {
    const std::string_view mode = count > 1 ? arguments[1] : "";
    if (mode == "backend" && count <= 3) return holdfast::bench::run_backend(count == 3 ? std::atoi(arguments[2]) : 0);
    if (mode == "load" && count == 8) return holdfast::bench::run_load(arguments);
    holdfast::bench::give_up("see the beginning of bench/relay/streams.cpp for what it takes");
}
