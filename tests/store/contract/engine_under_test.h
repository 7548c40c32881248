#pragma once

#include <boost/asio/io_context.hpp>
#include <map>

#include "store/cas/engine.h"
#include "store/contract/store_under_test.h"

namespace holdfast::store::contract {

/// Fronts on a real engine, each an EngineStore with an Engine of its own, all on one loop in real time: what a test of
/// an engine needs to say is how an engine is made, and how life is made hard for the server behind it.
struct EngineUnderTest {
    /// Not started. It gives its server up if that does not answer for so long.
    std::function<std::unique_ptr<cas::Engine>(boost::asio::io_context&, Duration answer_within)> make_engine;
    std::map<Ordeal, std::string> why_not{};
    std::function<void()> restart{};    ///< returns when it answers again
    std::function<void(bool)> reach{};  ///< SIGSTOP, a proxy that is cut …
    std::function<void(Duration)> slow{};
    std::function<void(Duration)> step_clock{};
    std::shared_ptr<void> keeps{};  ///< let go after all fronts: the server itself, perhaps
};
std::unique_ptr<StoreUnderTest> under_test(EngineUnderTest engine, const ContractShape& shape);

}  // namespace holdfast::store::contract
