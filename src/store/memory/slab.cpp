#include "store/memory/slab.h"

#include <new>

namespace holdfast::core {

char* Slab::allocate(std::size_t bytes) {
    if (bytes > largest) return static_cast<char*>(::operator new(bytes));
    Class& size = classes_[class_of(bytes)];
    if (size.free != nullptr) {
        Free* block = size.free;
        size.free = block->next;
        return reinterpret_cast<char*>(block);
    }
    const std::size_t rounded = class_of(bytes) * grain;
    if (static_cast<std::size_t>(size.end - size.next) < rounded) {
        pages_.push_back(std::make_unique_for_overwrite<char[]>(page_bytes));
        size.next = pages_.back().get();
        size.end = size.next + page_bytes;
    }
    char* block = size.next;
    size.next += rounded;
    return block;
}

void Slab::free(char* block, std::size_t bytes) {
    if (bytes > largest) {
        ::operator delete(block);
        return;
    }
    Class& size = classes_[class_of(bytes)];
    size.free = ::new (block) Free{size.free};
}

}  // namespace holdfast::core
