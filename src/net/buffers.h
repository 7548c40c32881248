#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::net {

/// Buffers shared by the connections of a door. A connection with no pending bytes returns its buffer, so that idle
/// connections cost almost nothing and busy ones do not allocate.
class Buffers {
 public:
    static constexpr std::size_t bytes = 32 * 1024;       ///< size of an input buffer, least capacity of an output one
    static constexpr std::size_t bytes_kept = 4 * bytes;  ///< a larger one is freed

    Buffers() {
        inputs_.reserve(max_spare);
        outputs_.reserve(max_spare);
    }

    /// `bytes` long, with arbitrary content.
    std::string take_input() { return inputs_.empty() ? std::string(bytes, '\0') : take_last(inputs_); }
    /// Empty, with capacity reserved.
    std::string take_output() {
        if (!outputs_.empty()) return take_last(outputs_);
        std::string fresh;
        fresh.reserve(bytes);
        return fresh;
    }

    /// Both leave `buffer` empty, without capacity.
    void give_back_input(std::string& buffer) {
        std::string given;
        given.swap(buffer);
        if (given.size() == bytes && inputs_.size() < max_spare) inputs_.push_back(std::move(given));
    }
    void give_back_output(std::string& buffer) {
        std::string given;
        given.swap(buffer);
        if (given.capacity() < bytes || given.capacity() > bytes_kept || outputs_.size() == max_spare) return;
        given.clear();
        outputs_.push_back(std::move(given));
    }

 private:
    static constexpr std::size_t max_spare = 128;

    static std::string take_last(std::vector<std::string>& spare) {
        std::string buffer = std::move(spare.back());
        spare.pop_back();
        return buffer;
    }

    std::vector<std::string> inputs_, outputs_;
};

/// The bytes that a connection has received and not yet handled. It borrows a buffer to receive into, and grows it as
/// bytes arrive, not by the length that a message claims to have. Between turns it keeps no more than it needs.
class InputBuffer {
 public:
    explicit InputBuffer(Buffers& spare) : spare_(spare) {}

    std::string_view unread() const { return {bytes_.data() + begin_, end_ - begin_}; }
    std::size_t size() const { return end_ - begin_; }
    std::size_t capacity() const { return bytes_.capacity(); }
    void consume(std::size_t count) { begin_ += count; }

    /// Room to receive into, so that at most `most` bytes are unread. Moves the unread bytes. REQUIRES: fewer than
    /// `most` are unread.
    std::span<char> room(std::size_t most);
    void received(std::size_t count) { end_ += count; }

    /// Gives back memory that the unread bytes do not need. Moves them.
    void settle();
    void clear();

 private:
    void make_room(std::size_t most);
    void move_to(std::string buffer);

    Buffers& spare_;
    std::string bytes_;  // from begin_ to end_: unread
    std::size_t begin_ = 0, end_ = 0;
};

}  // namespace holdfast::net
