#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::doors::http {

/// An answer as it came over the wire.
struct Answer {
    int status = 0;                              ///< 0: the connection ended instead
    std::map<std::string, std::string> headers;  ///< names in lower case
    std::string body;

    /// What stands at a JSON pointer of the body, such as `/leases/0/id`. Fails the test if it is not there.
    std::string text(std::string_view pointer) const;
    std::int64_t number(std::string_view pointer) const;
    bool truth(std::string_view pointer) const;
    bool has(std::string_view pointer) const;
    bool is_null(std::string_view pointer) const;
    std::size_t size(std::string_view pointer) const;

    std::string code() const { return text("/error/code"); }
};

/// A client that sends whatever it is told, byte for byte, over a blocking socket on loopback.
class TestClient {
 public:
    explicit TestClient(int port, int receive_buffer = 0);
    ~TestClient();
    TestClient(TestClient&& other) noexcept;
    TestClient(const TestClient&) = delete;

    void send(std::string_view bytes);
    /// Like send(), but false if the other end has gone.
    bool try_send(std::string_view bytes);
    void end_sending();
    void close();
    void reset();  ///< closes so that the other end sees an error

    Answer read();
    /// The head only: for an answer to HEAD, and before a stream.
    Answer read_head();
    std::string read_line();
    std::string read_until(std::string_view end);
    /// Everything until the other end closes.
    std::string read_to_end();

    /// Sends one well-formed request and reads its answer.
    Answer ask(std::string_view method, std::string_view target, std::string_view body = {});

 private:
    int socket_ = -1;
    std::string buffer_;

    bool fill();
};

std::string request_text(std::string_view method, std::string_view target, std::string_view body = {},
                         std::string_view headers = {});

/// The events of a stream, as blocks of lines.
struct StreamEvent {
    std::string id, type, data, comment;
};
StreamEvent read_event(TestClient& client);
/// The next one that is more than a comment or an id.
StreamEvent read_real_event(TestClient& client);

}  // namespace holdfast::doors::http
