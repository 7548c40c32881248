#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lease/record.h"

namespace holdfast::store::cas {

/// Neighbours that are not known yet: notes whether a rule asked for them.
class UnknownNeighbours final : public lease::Neighbours {
 public:
    void visit(lease::Predicate, const Visit&) const override { asked_ = true; }
    bool asked() const { return asked_; }

 private:
    mutable bool asked_ = false;
};

/// The overlapping records as other nodes or the engine showed them, in the holder's measure of time. A record may be
/// shown several times, and then all versions count: a lease that another has seen the end of is honoured until its own
/// end at most.
class SeenNeighbours final : public lease::Neighbours {
 public:
    void add(std::string_view resource, lease::Record record);

    void visit(lease::Predicate predicate, const Visit& visit) const override;

    /// Removes all waiters.
    void leave_out_waiters();

 private:
    std::map<std::string, lease::Record, std::less<>> records_;
};

/// True if an active lease or a reservation of another holder, in an overlapping record, conflicts with one of these
/// leases of the record.
bool is_outrun(const lease::Record& record, const std::vector<lease::Token>& tokens, const SeenNeighbours& neighbours,
               Instant now);

}  // namespace holdfast::store::cas
