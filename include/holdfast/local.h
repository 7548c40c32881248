#pragma once

#include <holdfast/client.h>
#include <holdfast/export.h>

#include <memory>
#include <string>

namespace holdfast {

/// An authority inside this process, with the same rules and the same API as a server, for tests and single programs.
/// It writes nothing to disk and opens no port. The authority lives until this object and all its clients are
/// destroyed. The clients of a moved-from object are refused everything.
class HOLDFAST_API Local {
 public:
    Local();

    /// Returns a client of this authority. An empty holder: a generated name.
    Client client(std::string holder = {}) const;

    struct HOLDFAST_INTERNAL Core;

 private:
    std::shared_ptr<Core> core_;
};

}  // namespace holdfast
