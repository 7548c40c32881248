#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::resp {

/// Which version of the protocol a connection speaks: 2 until it says HELLO 3.
enum class Protocol : std::uint8_t { resp2 = 2, resp3 = 3 };

/// Writes replies at the end of a buffer. What RESP2 has no type for is written as what Redis writes there: a map as a
/// flat array, a push as an array, true and false as 1 and 0.
class ReplyWriter {
 public:
    ReplyWriter(std::string& out, Protocol protocol) : out_(out), protocol_(protocol) {}

    void simple(std::string_view text);
    /// `code message`; an end of line in it becomes a blank. Clients show errors as they come, so what steers a
    /// terminal is escaped.
    void error(std::string_view code, std::string_view message);
    void integer(std::int64_t value);
    void bulk(std::string_view text);
    void null();
    void null_array();
    void boolean(bool value);
    void array(std::size_t items);
    void map(std::size_t pairs);
    void push(std::size_t items);
    /// Something that is RESP already.
    void raw(std::string_view reply) { out_ += reply; }

 private:
    std::string& out_;
    Protocol protocol_;
};

}  // namespace holdfast::resp
