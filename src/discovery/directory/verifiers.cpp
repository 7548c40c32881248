#include "discovery/directory/verifiers.h"

#include <utility>

namespace holdfast::core {

const Verifier* Verifiers::find(std::string_view public_key) {
    if (const auto known = young_.find(public_key); known != young_.end()) return &known->second;
    if (young_.size() >= per_generation_) old_ = std::exchange(young_, Keys{});
    if (auto kept = old_.extract(std::string(public_key))) return &young_.insert(std::move(kept)).position->second;
    auto verifier = Verifier::of(public_key);
    if (!verifier) return nullptr;
    return &young_.emplace(std::string(public_key), std::move(*verifier)).first->second;
}

}  // namespace holdfast::core
