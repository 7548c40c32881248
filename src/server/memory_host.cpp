#include "base/random.h"
#include "server/store_host.h"
#include "store/memory/memory_store.h"

namespace holdfast {
namespace {

class MemoryHost final : public StoreHost {
 public:
    explicit MemoryHost(core::StoreListener& listener) : store_(listener, HashKey{random_seed(), random_seed()}) {}

    core::DrivenStore& store() override { return store_; }

    void restore(std::string_view resource, const core::Record& record, const core::RegisterBallots&) override {
        store_.restore(resource, record);
    }
    void for_each(const StateDb::TakeUp& save) override {
        store_.for_each_record(
            [&](std::string_view resource, const core::Record& record) { save(resource, record, {}); });
    }

 private:
    core::MemoryStore store_;
};

}  // namespace

std::unique_ptr<StoreHost> make_memory_host(core::StoreListener& listener) {
    return std::make_unique<MemoryHost>(listener);
}

}  // namespace holdfast
