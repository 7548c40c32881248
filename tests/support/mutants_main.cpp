#include <cstdlib>
#include <gtest/gtest.h>

#include "mutants/mutant.h"

/// Runs the tests with one rule switched off, to see that they notice: the one that HOLDFAST_MUTANT names.
int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (const char* name = std::getenv("HOLDFAST_MUTANT")) holdfast::active_mutant = name;
    return RUN_ALL_TESTS();
}
