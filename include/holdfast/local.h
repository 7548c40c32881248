#pragma once

#include <holdfast/client.h>
#include <holdfast/export.h>

#include <memory>
#include <string>

namespace holdfast {

/// An authority inside this process, with the same rules and the same API as a server, for tests and single programs.
/// Nothing is written to disk and nothing listens. It lives as long as it or a client of it does. One that was moved
/// from gives clients that are refused everything.
class HOLDFAST_API Local {
 public:
    Local();

    /// A client of this authority. Empty: a holder of its own.
    Client client(std::string holder = {}) const;

    struct HOLDFAST_INTERNAL Core;

 private:
    std::shared_ptr<Core> core_;
};

}  // namespace holdfast
