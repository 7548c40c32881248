#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/cas/engine.h"

namespace holdfast::etcd {

/// Keys from `first` up to, but not with, `end`. An empty `end`: only that one.
struct KeyRange {
    std::string first, end;

    bool operator==(const KeyRange&) const = default;
};

/// Which keys of etcd's belong to what (etcd_engine.h).
class EtcdKeys {
 public:
    explicit EtcdKeys(std::string_view prefix) : prefix_(std::string(prefix) + "/") {}

    std::string key(core::Kind kind, std::string_view name) const;
    std::string holder_key(std::string_view holder, std::string_view resource) const;
    std::string connection_key(std::string_view id) const { return prefix_ + "connection/" + std::string(id); }

    /// What a key is the key of; nothing if it is none of key()'s.
    struct Named {
        core::Kind kind;
        std::string_view name;
    };
    std::optional<Named> named(std::string_view key) const;

    /// All that is kept of a kind whose names begin like this.
    KeyRange beginning(core::Kind kind, std::string_view name) const;
    KeyRange of_holder(std::string_view holder) const;
    /// The resource of a key in of_holder(). REQUIRES: it is one.
    std::string_view resource_in(std::string_view holder_key, std::string_view holder) const;
    /// All that is kept of both kinds: what to watch. What is not kept for its own sake lies outside.
    KeyRange kept() const;
    /// The records that overlap with a `FILE:` resource, and perhaps itself: trees above it, and what lies below if it
    /// is a tree. Nothing for other resources.
    std::vector<KeyRange> overlapping(std::string_view resource) const;

 private:
    std::string prefix_;
};

}  // namespace holdfast::etcd
