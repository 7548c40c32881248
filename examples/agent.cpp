// An agent that writes a book, page by page, and may be killed at any moment: started again, it is the same agent in
// its next life and goes on where it was, with a new token.
//
//   agent ID STATE_FILE PAGES    asks the server at HOLDFAST_SERVER, or at http://127.0.0.1:7400
//
// Exit codes: 0 done, 1 not done, 2 usage.

#include <holdfast/agent.h>

#include <iostream>
#include <thread>

namespace {

using namespace std::chrono_literals;

void tell(const holdfast::Step& step) {
    std::cerr << to_string(step.from) << " -> " << to_string(step.to);
    if (step.why) std::cerr << ": " << step.why->message;
    std::cerr << '\n';
}

int fail(const std::optional<holdfast::Failure>& why) {
    std::cerr << (why ? why->code + ": " + why->message : "gave up") << '\n';
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return std::cerr << "usage: agent ID STATE_FILE PAGES\n", 2;
    holdfast::Agent agent(holdfast::Client({.holder = argv[1]}), {.state_file = argv[2]});
    if (auto failure = agent.start()) return fail(failure);
    const std::string checkpoint = agent.checkpoint();
    int page = checkpoint.empty() ? 0 : std::stoi(checkpoint);
    std::cout << agent.id() << ", life " << agent.epoch() << ", goes on after page " << page << std::endl;

    const auto write_book = [&](holdfast::Work& work) {
        for (; page < std::stoi(argv[3]); ++page) {
            if (!work.go_on()) return false;  // pauses in here while the lease is in doubt
            std::this_thread::sleep_for(20ms);
            std::cout << "page " << page + 1 << ", written with token " << work.token() << std::endl;
            if (agent.save(std::to_string(page + 1))) return false;
        }
        return true;
    };
    const auto performed = agent.perform({{"FILE:/book/**"}}, write_book, {.reason = "writing", .on_step = tell});
    return performed ? 0 : fail(performed.why);
}
