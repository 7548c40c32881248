#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/cas/engine.h"

namespace holdfast::store::etcd {

/// Keys from `first` up to, but not including, `end`. With an empty `end`, only `first`.
struct KeyRange {
    std::string first, end;

    bool operator==(const KeyRange&) const = default;
};

/// The layout of keys in etcd (etcd_engine.h).
class EtcdKeys {
 public:
    explicit EtcdKeys(std::string_view prefix) : prefix_(std::string(prefix) + "/") {}

    std::string key(cas::Kind kind, std::string_view name) const;
    std::string holder_key(std::string_view holder, std::string_view resource) const;
    std::string connection_key(std::string_view id) const { return prefix_ + "connection/" + std::string(id); }

    /// The inverse of key(); nothing for other keys.
    struct Named {
        cas::Kind kind;
        std::string_view name;
    };
    std::optional<Named> named(std::string_view key) const;

    /// All names of a kind with this prefix.
    KeyRange beginning(cas::Kind kind, std::string_view name) const;
    KeyRange of_holder(std::string_view holder) const;
    /// The resource of a key in of_holder(). REQUIRES: it is such a key.
    std::string_view resource_in(std::string_view holder_key, std::string_view holder) const;
    /// All records and documents: the range to watch. Index and connection keys are outside.
    KeyRange kept() const;
    /// The records that overlap with a `FILE:` resource, and perhaps itself: trees above it, and what lies below if it
    /// is a tree. Nothing for other resources.
    std::vector<KeyRange> overlapping(std::string_view resource) const;

 private:
    std::string prefix_;
};

}  // namespace holdfast::store::etcd
