#pragma once

#include <string>
#include <vector>

#include "auth/grant.h"

namespace holdfast::auth {

/// What a principal may do (A2 to A4), said as plainly as possible: grants as they were written, names taken apart into
/// their parts, a tree asked about file by file.
class SlowAccess {
 public:
    SlowAccess(std::string principal, std::vector<Grant> grants)
        : principal_(std::move(principal)), grants_(std::move(grants)) {}

    bool allows(Verb verb, const std::string& resource, const std::string& holder) const;
    bool allows_namespace(Verb verb, const std::string& name_space) const;
    bool allows_everywhere(Verb verb) const;
    bool allows_anywhere(Verb verb) const;
    bool may_act_as(Verb verb, const std::string& holder) const;

 private:
    bool is_own(const Grant& grant, const std::string& holder) const;

    std::string principal_;
    std::vector<Grant> grants_;
};

}  // namespace holdfast::auth
