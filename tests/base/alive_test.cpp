#include "base/alive.h"

#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::inline base {
namespace {

TEST(Alive, runs_a_guarded_callback_while_its_owner_is_there) {
    const Alive alive;
    std::string heard;
    auto callback = alive.guard([&heard](std::unique_ptr<std::string> text, int times) {
        for (int i = 0; i < times; ++i)
            heard += *text;
    });
    callback(std::make_unique<std::string>("ab"), 2);
    EXPECT_EQ(heard, "abab");
}

TEST(Alive, drops_a_guarded_callback_once_its_owner_is_gone) {
    std::optional<Alive> alive{std::in_place};
    int calls = 0;
    auto callback = alive->guard([&calls] { ++calls; });
    callback();
    alive.reset();
    callback();
    EXPECT_EQ(calls, 1);
}

TEST(Alive, drops_guarded_callbacks_after_its_end) {
    Alive alive;
    int calls = 0;
    auto before = alive.guard([&calls] { ++calls; });
    before();
    alive.end();
    before();
    alive.guard([&calls] { ++calls; })();
    EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace holdfast::inline base
