#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::codec::resp {

/// The protocol version of a connection: 2 until it sends HELLO 3.
enum class Protocol : std::uint8_t { resp2 = 2, resp3 = 3 };

/// Appends replies to a buffer. Types that RESP2 lacks are written as Redis writes them: a map as a flat array, a push
/// as an array, true and false as 1 and 0.
class ReplyWriter {
 public:
    ReplyWriter(std::string& out, Protocol protocol) : out_(out), protocol_(protocol) {}

    void simple(std::string_view text);
    /// `code message`; an end of line in it becomes a blank. Clients show errors unchanged, so terminal control
    /// characters are escaped.
    void error(std::string_view code, std::string_view message);
    void integer(std::int64_t value);
    void bulk(std::string_view text);
    void null();
    void null_array();
    void boolean(bool value);
    void array(std::size_t items);
    void map(std::size_t pairs);
    void push(std::size_t items);
    /// Appends bytes that are already RESP.
    void raw(std::string_view reply) { out_ += reply; }

 private:
    std::string& out_;
    Protocol protocol_;
};

}  // namespace holdfast::codec::resp
