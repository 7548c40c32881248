#include "doors/peer/outbox.h"

namespace holdfast::doors::peer {
namespace {

constexpr std::size_t max_memory_kept = 1024 * 1024;

}  // namespace

std::size_t Outbox::make_room() {
    std::size_t lost = 0;
    for (; bytes() > max_bytes_ && sizes_.size() > 1; ++lost)
        drop_front(1);
    return lost;
}

void Outbox::drop_front(std::size_t messages) {
    for (; messages > 0; --messages) {
        begin_ += sizes_.front();
        sizes_.pop_front();
    }
    if (sizes_.empty()) {
        begin_ = 0;
        bytes_.clear();
        if (bytes_.capacity() > max_memory_kept) bytes_.shrink_to_fit();
    } else if (begin_ > bytes_.size() / 2) {
        bytes_.erase(0, begin_);
        begin_ = 0;
    }
}

std::size_t Outbox::take(std::string& frame, std::size_t max_bytes) {
    std::size_t messages = 0, taken = 0;
    for (std::size_t size : sizes_) {
        if (messages > 0 && taken + size > max_bytes) break;
        taken += size;
        ++messages;
    }
    frame.append(bytes_, begin_, taken);
    drop_front(messages);
    return messages;
}

}  // namespace holdfast::doors::peer
