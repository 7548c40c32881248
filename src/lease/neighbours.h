#pragma once

#include <functional>
#include <string_view>

#include "lease/record.h"

namespace holdfast::core {

/// The records of resources that overlap with one: where one of the two is a tree and the other lies in it
/// (lease/resource.h). A store shows them to a rule along with the record itself, as they are at the same instant.
class Neighbours {
 public:
    virtual ~Neighbours() = default;

    /// Returns false to see no more.
    using Visit = std::function<bool(std::string_view resource, const Record& record)>;

    /// Shows every record that may have a lease, a reservation or a waiter whose predicate conflicts with this one.
    /// They are as the store keeps them: what is past its time may still be in them (T2).
    virtual void visit(Predicate predicate, const Visit& visit) const = 0;
};

/// What most resources have.
class NoNeighbours final : public Neighbours {
 public:
    void visit(Predicate, const Visit&) const override {}
};

}  // namespace holdfast::core
