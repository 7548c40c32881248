#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::discovery::relay {

inline constexpr std::chrono::seconds patience{60};

/// A blocking TCP socket on loopback that fails the test if what it waits for does not come.
class TestSocket {
 public:
    explicit TestSocket(int socket);
    static TestSocket connect(int port, int receive_buffer = 0);
    ~TestSocket();
    TestSocket(TestSocket&& other) noexcept;
    TestSocket& operator=(TestSocket&& other) noexcept;

    void send(std::string_view bytes);
    /// Like send(), but false if the other end has gone.
    bool try_send(std::string_view bytes);
    /// Like send(), but returns when the other end's system has it all.
    void deliver(std::string_view bytes);
    /// So many bytes.
    std::string receive(std::size_t bytes);
    /// Up to the end.
    std::string receive_all();
    /// Sends until nothing is taken for a while; how much was.
    std::size_t fill();
    void end_sending();
    void close();
    void reset();
    /// Waits for the end; true if it is a reset.
    bool is_reset();
    /// Waits for the end, whichever it is; false if bytes come.
    bool is_ended();
    int release_without_blocking();

 private:
    int socket_ = -1;
};

/// Two ends of one connection.
std::pair<TestSocket, TestSocket> connected_pair();

/// Bytes that do not repeat.
std::string noise(std::size_t bytes, std::uint64_t seed);

void raise_open_files(std::size_t files);

}  // namespace holdfast::discovery::relay
