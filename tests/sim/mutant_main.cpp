// `make sim MUTANT=NAME`: the simulator in a build with rules that can be switched off.
//
//     sim_mutant NAME [--shrink] [--exhaustive] [--seeds N | --seed N]

#include <cstdlib>
#include <cstring>

#include "sim/session.h"

int main(int argc, char** argv) {
    holdfast::sim::SessionOptions options;
    if (argc > 1) options.mutant = argv[1];
    for (int i = 2; i < argc; ++i) {
        if (std::strcmp(argv[i], "--shrink") == 0) options.shrink = true;
        if (std::strcmp(argv[i], "--exhaustive") == 0) options.exhaustive = true;
        if (std::strcmp(argv[i], "--seeds") == 0 && i + 1 < argc) options.seeds = std::strtoull(argv[++i], nullptr, 10);
        if (std::strcmp(argv[i], "--seed") == 0 && i + 1 < argc) options.seed = std::strtoull(argv[++i], nullptr, 10);
    }
    holdfast::sim::TextReport report(false);
    return holdfast::sim::run_session(options, report);
}
