#pragma once

#include <memory>
#include <openssl/evp.h>
#include <string>

#include "base/result.h"

namespace holdfast {

struct FreeKey {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;

/// A key's file is PEM, PKCS #8, as `openssl genpkey -algorithm ed25519` writes it too. Errors as Identity has them.
Result<Key> load_key(const std::string& file);
Result<void> save_new_key(EVP_PKEY& key, const std::string& file);

}  // namespace holdfast
