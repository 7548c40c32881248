#include "store/memory/slab.h"

namespace holdfast::store::memory {

char* Slab::allocate(std::size_t bytes) {
    if (bytes > largest) {
        large_bytes_ += bytes;
        return static_cast<char*>(::operator new(bytes));
    }
    Class& size = classes_[class_of(bytes)];
    if (size.free != nullptr) {
        Free* block = size.free;
        size.free = block->next;
        --size.free_blocks;
        return reinterpret_cast<char*>(block);
    }
    const std::size_t rounded = class_of(bytes) * grain;
    if (static_cast<std::size_t>(size.end - size.next) < rounded) {
        if (walk_ && walk_->of == class_of(bytes)) {
            end_walk();
            return allocate(bytes);
        }
        size.next = take_page();
        size.end = size.next + page_bytes;
        ++size.pages;
    }
    char* block = size.next;
    size.next += rounded;
    return block;
}

void Slab::free(char* block, std::size_t bytes) {
    if (bytes > largest) {
        large_bytes_ -= bytes;
        ::operator delete(block);
        return;
    }
    Class& size = classes_[class_of(bytes)];
    size.free = ::new (block) Free{size.free};
    ++size.free_blocks;
    ++freed_;
}

char* Slab::take_page() {
    if (empty_.empty()) {
        constexpr std::size_t bytes = pages_together * page_bytes;
        regions_.emplace_back(static_cast<char*>(::operator new (bytes, std::align_val_t{page_bytes})));
        pages_ += pages_together;
        empty_.reserve(pages_);
        for (std::size_t i = pages_together; i > 0; --i)
            empty_.push_back(regions_.back().get() + (i - 1) * page_bytes);
    }
    char* page = empty_.back();
    empty_.pop_back();
    return page;
}

bool Slab::give_back(std::size_t& steps) {
    constexpr std::size_t many = 4096;
    if (!walk_) {
        if (freed_ < many) return false;
        if (!begin_walk()) {
            freed_ = 0;
            return false;
        }
    }
    Class& size = classes_[walk_->of];
    for (; steps > 0 && size.free != nullptr; --steps) {
        Free* block = size.free;
        size.free = block->next;
        find(size, block);
    }
    if (size.free == nullptr) end_walk();
    return true;
}

/// Returns false if a walk is not worthwhile for any size.
bool Slab::begin_walk() {
    for (std::size_t i = 1; i < classes_.size(); ++i) {
        Class& size = classes_[i];
        const std::size_t bytes_each = i * grain;
        const std::size_t all = size.pages * (page_bytes / bytes_each);
        if (!size.surplus.worth_a_look({size.free_blocks, all, bytes_each})) continue;
        walk_.emplace().of = i;
        return true;
    }
    return false;
}

void Slab::find(Class& size, Free* block) {
    char* page = page_of(block);
    Found& found = walk_->pages[page];
    block->next = found.first;
    found.first = block;
    if (found.last == nullptr) found.last = block;
    const bool newest = page + page_bytes == size.end;
    if (++found.count < page_bytes / (walk_->of * grain) || newest) return;
    size.free_blocks -= found.count;
    --size.pages;
    walk_->pages.erase(page);
    memory::give_back(page, page + page_bytes);
    empty_.push_back(page);
}

/// Blocks found on pages that are still in use return to the free list.
void Slab::end_walk() {
    Class& size = classes_[walk_->of];
    for (auto& [page, found] : walk_->pages) {
        found.last->next = size.free;
        size.free = found.first;
    }
    size.surplus.looked(size.free_blocks);
    walk_.reset();
}

}  // namespace holdfast::store::memory
