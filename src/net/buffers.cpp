#include "net/buffers.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace holdfast::net {
namespace {

constexpr std::size_t least_room = 4 * 1024;    // with less, the buffer grows
constexpr std::size_t bytes_parked = 4 * 1024;  // if no more are unread, they get a string of their size

}  // namespace

std::span<char> InputBuffer::room(std::size_t most) {
    if (bytes_.size() < Buffers::bytes) move_to(spare_.take_input());
    if (begin_ == end_) begin_ = end_ = 0;
    if (bytes_.size() - end_ < least_room) make_room(most);
    return {bytes_.data() + end_, std::min(bytes_.size() - end_, most - size())};
}

void InputBuffer::make_room(std::size_t most) {
    std::memmove(bytes_.data(), bytes_.data() + begin_, size());
    end_ -= std::exchange(begin_, 0);
    if (bytes_.size() - end_ < least_room && bytes_.size() < most)
        move_to(std::string(std::min(2 * bytes_.size(), most), '\0'));
}

void InputBuffer::move_to(std::string buffer) {
    std::memcpy(buffer.data(), bytes_.data() + begin_, size());
    spare_.give_back_input(bytes_);
    bytes_ = std::move(buffer);
    end_ -= std::exchange(begin_, 0);
}

void InputBuffer::settle() {
    if (size() == 0) return clear();
    if (size() <= bytes_parked && bytes_.size() >= Buffers::bytes) move_to(std::string(size(), '\0'));
}

void InputBuffer::clear() {
    begin_ = end_ = 0;
    spare_.give_back_input(bytes_);
}

}  // namespace holdfast::net
