#include "store/etcd/etcd_keys.h"

#include "base/text.h"
#include "lease/resource.h"

namespace holdfast::store::etcd {
namespace {

constexpr std::string_view records = "r/", documents = "d/", by_holder = "by-holder/";

std::string_view folder(cas::Kind kind) {
    return kind == cas::Kind::record ? records : documents;
}

/// The end of the range of keys with this prefix. REQUIRES: the last byte is not 0xff, which UTF-8 never contains.
std::string end_of(std::string beginning) {
    beginning.back() = static_cast<char>(beginning.back() + 1);
    return beginning;
}

KeyRange all_that_begin(std::string beginning) {
    std::string end = end_of(beginning);
    return {std::move(beginning), std::move(end)};
}

}  // namespace

std::string EtcdKeys::key(cas::Kind kind, std::string_view name) const {
    return prefix_ + std::string(folder(kind)) + std::string(name);
}

std::string EtcdKeys::holder_key(std::string_view holder, std::string_view resource) const {
    return prefix_ + std::string(by_holder) + percent_encode(holder) + "/" + std::string(resource);
}

std::optional<EtcdKeys::Named> EtcdKeys::named(std::string_view key) const {
    if (!key.starts_with(prefix_)) return std::nullopt;
    key.remove_prefix(prefix_.size());
    if (key.starts_with(records)) return Named{cas::Kind::record, key.substr(records.size())};
    if (key.starts_with(documents)) return Named{cas::Kind::document, key.substr(documents.size())};
    return std::nullopt;
}

KeyRange EtcdKeys::beginning(cas::Kind kind, std::string_view name) const {
    return all_that_begin(key(kind, name));
}

KeyRange EtcdKeys::of_holder(std::string_view holder) const {
    return all_that_begin(holder_key(holder, {}));
}

std::string_view EtcdKeys::resource_in(std::string_view key, std::string_view holder) const {
    return key.substr(holder_key(holder, {}).size());
}

KeyRange EtcdKeys::kept() const {
    return {prefix_ + std::string(documents), end_of(prefix_ + std::string(records))};
}

std::vector<KeyRange> EtcdKeys::overlapping(std::string_view resource) const {
    std::vector<KeyRange> ranges;
    const auto file = lease::file_path(resource);
    if (!file) return ranges;
    const std::string scope(file->scope);
    std::string_view above = file->path;
    for (std::size_t slash = above.rfind('/'); slash != std::string_view::npos; slash = above.rfind('/')) {
        above = above.substr(0, slash);
        ranges.push_back({key(cas::Kind::record, scope + std::string(above) + "/**"), {}});
    }
    if (file->tree) ranges.push_back(beginning(cas::Kind::record, scope + std::string(file->path) + "/"));
    return ranges;
}

}  // namespace holdfast::store::etcd
