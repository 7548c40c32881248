#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "base/assert.h"

namespace holdfast::inline base {

/// A move-only function to be called later. Captures of up to six words are stored inside, so that answering a request
/// does not allocate; larger ones are on the heap.
template <class... Args>
class Callback {
 public:
    Callback() = default;

    template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Callback> && std::is_invocable_v<F&, Args...>)
        Callback(F&& function) {
        using Function = std::remove_cvref_t<F>;
        if constexpr (fits<Function>) {
            ::new (static_cast<void*>(space_)) Function(std::forward<F>(function));
            table_ = &inside<Function>;
        } else {
            ::new (static_cast<void*>(space_)) Function*(new Function(std::forward<F>(function)));
            table_ = &outside<Function>;
        }
    }

    Callback(Callback&& other) noexcept { take(other); }
    Callback& operator=(Callback&& other) noexcept {
        if (this == &other) return *this;
        reset();
        take(other);
        return *this;
    }
    Callback(const Callback&) = delete;
    Callback& operator=(const Callback&) = delete;
    ~Callback() { reset(); }

    explicit operator bool() const { return table_ != nullptr; }

    /// REQUIRES: *this holds a function.
    void operator()(Args... args) {
        HOLDFAST_ASSERT(table_ != nullptr);
        table_->call(space_, std::forward<Args>(args)...);
    }

 private:
    static constexpr std::size_t room = 6 * sizeof(void*);

    struct Table {
        void (*call)(void*, Args&&...);
        void (*move)(void* from, void* to) noexcept;
        void (*destroy)(void*) noexcept;
    };

    template <class F>
    static constexpr bool fits = sizeof(F) <= room &&
                                 alignof(F) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<F>;

    template <class F>
    static constexpr Table inside{
        [](void* self, Args&&... args) { (*static_cast<F*>(self))(std::forward<Args>(args)...); },
        [](void* from, void* to) noexcept {
            ::new (to) F(std::move(*static_cast<F*>(from)));
            static_cast<F*>(from)->~F();
        },
        [](void* self) noexcept { static_cast<F*>(self)->~F(); }};

    template <class F>
    static constexpr Table outside{
        [](void* self, Args&&... args) { (**static_cast<F**>(self))(std::forward<Args>(args)...); },
        [](void* from, void* to) noexcept { ::new (to) F*(*static_cast<F**>(from)); },
        [](void* self) noexcept { delete *static_cast<F**>(self); }};

    void take(Callback& other) noexcept {
        table_ = other.table_;
        if (table_ != nullptr) table_->move(other.space_, space_);
        other.table_ = nullptr;
    }

    void reset() noexcept {
        if (table_ != nullptr) table_->destroy(space_);
        table_ = nullptr;
    }

    alignas(std::max_align_t) unsigned char space_[room];
    const Table* table_ = nullptr;
};

}  // namespace holdfast::inline base
