#pragma once

#include <string>

namespace holdfast {

/// What a server prints on stdout once it serves. The first line is for programs that wait for it; the hints, if
/// wanted, are commands that can be pasted into another terminal of the same directory.
struct Greeting {
    std::string version{};
    std::string address;    ///< as bound, HOST:PORT
    std::string resp;       ///< likewise, of the Redis protocol; empty: none
    std::string relay;      ///< likewise, of the relay; empty: none
    std::string program{};  ///< how to call this very binary
    bool hints = false;
};
std::string to_string(const Greeting& greeting);

/// The running binary, relative to the current directory if it is below it.
std::string path_of_this_program();

}  // namespace holdfast
