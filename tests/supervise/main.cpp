#include <cstdlib>
#include <gtest/gtest.h>

#include "mutants/mutant.h"
#include "supervise/guardian.h"
#include "supervise/keeper_process.h"

/// The tests, or one of the processes they start: all are this one executable.
int main(int argc, char** argv) {
#ifdef HOLDFAST_MUTANTS
    if (const char* name = std::getenv("HOLDFAST_MUTANT")) holdfast::active_mutant = name;
#endif
    const std::vector<std::string> arguments{argv, argv + argc};
    if (argc > 1 && arguments[1] == holdfast::supervise::guardian_command)
        return holdfast::supervise::guardian_main({arguments.begin() + 2, arguments.end()});
    if (argc > 1 && arguments[1] == "__keeper")
        return holdfast::supervise::keeper_main({arguments.begin() + 2, arguments.end()});
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
