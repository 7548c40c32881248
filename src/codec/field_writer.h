#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::codec {

/// Appends fields of Protobuf's wire format. As in proto3, zero and empty values are left out.
class FieldWriter {
 public:
    explicit FieldWriter(std::string& out) : out_(out) {}

    void number(int field, std::uint64_t value) {
        if (value != 0) always(field, value);
    }
    /// For fields of type sint64.
    void zigzag(int field, std::int64_t value) { number(field, folded(value)); }
    void always(int field, std::uint64_t value) {
        tag(field, varint_type);
        varint(value);
    }
    /// For optional fields of type sint64, which are written even if they are zero.
    void always_zigzag(int field, std::int64_t value) { always(field, folded(value)); }
    void text(int field, std::string_view value) {
        if (value.empty()) return;
        tag(field, bytes_type);
        varint(value.size());
        out_ += value;
    }
    /// A message within the message; `content()` appends its fields.
    template <class Content>
    void nested(int field, Content content) {
        tag(field, bytes_type);
        const std::size_t begin = out_.size();
        out_.push_back('\0');  // room for the length, which most often is below 128
        content();
        const std::size_t size = out_.size() - begin - 1;
        if (size < 0x80)
            out_[begin] = static_cast<char>(size);
        else
            make_room_for_length(begin, size);
    }

 private:
    static constexpr int varint_type = 0;
    static constexpr int bytes_type = 2;

    static std::uint64_t folded(std::int64_t value) {
        return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
    }
    void tag(int field, int type) { varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type)); }
    void varint(std::uint64_t value) {
        char bytes[10];
        std::size_t size = 0;
        for (; value >= 0x80; value >>= 7)
            bytes[size++] = static_cast<char>(value | 0x80);
        bytes[size++] = static_cast<char>(value);
        out_.append(bytes, size);
    }
    void make_room_for_length(std::size_t begin, std::size_t size) {
        std::string length;  // short enough to need no allocation
        FieldWriter(length).varint(size);
        out_.replace(begin, 1, length);
    }

    std::string& out_;
};

}  // namespace holdfast::codec
