#pragma once

#include <functional>
#include <string_view>

#include "lease/record.h"

namespace holdfast::core {

/// The records of the resources that overlap with one resource: one of the two is a tree and contains the other
/// (lease/resource.h). A store passes them to a rule together with the record itself, as of the same instant.
class Neighbours {
 public:
    virtual ~Neighbours() = default;

    /// Return false to stop.
    using Visit = std::function<bool(std::string_view resource, const Record& record)>;

    /// Visits every record that may have a lease, a reservation or a waiter whose predicate conflicts with this one.
    /// The records are not settled: they may contain expired entries (T2).
    virtual void visit(Predicate predicate, const Visit& visit) const = 0;
};

/// For resources that overlap with no other, as most do.
class NoNeighbours final : public Neighbours {
 public:
    void visit(Predicate, const Visit&) const override {}
};

}  // namespace holdfast::core
