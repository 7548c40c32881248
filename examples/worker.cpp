// Does a piece of work that only one program at a time may do.
//
//   worker            asks the server at HOLDFAST_SERVER, or at http://127.0.0.1:7400
//   worker --local    asks an authority inside this process; nothing else needs to run
//
// Exit codes: 0 done, 2 somebody else is at it, 3 lost on the way, 4 no server, 5 refused.

#include <holdfast/client.h>
#include <holdfast/local.h>

#include <cstring>
#include <iostream>

namespace {

using namespace std::chrono_literals;

int exit_code(holdfast::Outcome outcome) {
    switch (outcome) {
        case holdfast::Outcome::granted:
            return 0;
        case holdfast::Outcome::busy:
        case holdfast::Outcome::die:
            return 2;
        case holdfast::Outcome::lost:
        case holdfast::Outcome::uncertain:
            return 3;
        case holdfast::Outcome::unreachable:
            return 4;
        case holdfast::Outcome::refused:
            return 5;
        case holdfast::Outcome::cancelled:
            return 1;
    }
    return 1;
}

int work(holdfast::Client client) {
    auto acquired = client.acquire("example:report", {.wait = 10s, .reason = "writing the report"});
    if (!acquired) {
        std::cerr << to_string(acquired.outcome()) << ": " << acquired.failure().message << '\n';
        return exit_code(acquired.outcome());
    }
    holdfast::Lease& lease = acquired.lease();
    std::cout << client.holder() << " holds " << lease.grants().front().id << '\n';
    for (int page = 1; page <= 3; ++page) {
        if (!lease.held()) return exit_code(holdfast::Outcome::lost);  // stop before anyone else may start
        std::cout << "page " << page << ", written with token " << lease.token() << '\n';
    }
    return lease.release() ? 0 : exit_code(holdfast::Outcome::unreachable);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "--local") == 0) return work(holdfast::Local().client());
    return work(holdfast::Client());
}
