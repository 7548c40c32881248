#pragma once

#include <atomic>
#include <utility>
#include <vector>

namespace holdfast::relay {

/// Passes things from threads to one that takes them all, in order. Neither side ever waits for the other.
template <class T>
class Handover {
 public:
    Handover() = default;
    Handover(const Handover&) = delete;
    Handover& operator=(const Handover&) = delete;
    ~Handover() { take_all(); }

    /// True if there was nothing before: whoever takes must be woken.
    bool push(T thing) {
        Node* before = first_.load(std::memory_order_relaxed);
        auto* node = new Node{std::move(thing), before};
        // Once it is in, it is the other's to take and delete: what was before is looked at here only.
        while (!first_.compare_exchange_weak(before, node, std::memory_order_release, std::memory_order_relaxed))
            node->next = before;
        return before == nullptr;
    }

    std::vector<T> take_all() {
        std::vector<T> all;
        for (Node* node = first_.exchange(nullptr, std::memory_order_acquire); node != nullptr;) {
            all.push_back(std::move(node->thing));
            delete std::exchange(node, node->next);
        }
        return {std::make_move_iterator(all.rbegin()), std::make_move_iterator(all.rend())};
    }

 private:
    struct Node {
        T thing;
        Node* next;
    };
    std::atomic<Node*> first_ = nullptr;
};

}  // namespace holdfast::relay
