#include <algorithm>
#include <memory>
#include <openssl/bn.h>

#include "base/assert.h"
#include "discovery/identity/identity.h"

namespace holdfast::discovery::identity {
namespace {

struct FreeNumber {
    void operator()(BIGNUM* number) const { BN_free(number); }
};
struct FreeNumbers {
    void operator()(BN_CTX* context) const { BN_CTX_free(context); }
};
using Number = std::unique_ptr<BIGNUM, FreeNumber>;

/// Numbers modulo p = 2^255 - 19, the field of the curve -x² + y² = 1 + d x² y² (RFC 8032, 5.1).
class Field {
 public:
    Field() : context_(BN_CTX_new()), p_(of(0)) {
        well(context_ != nullptr && BN_set_bit(p_.get(), 255) && BN_sub_word(p_.get(), 19));
    }

    Number of(BN_ULONG word) {
        Number number{BN_new()};
        well(number != nullptr && BN_set_word(number.get(), word));
        return number;
    }
    Number product(const Number& a, const Number& b) {
        Number result = of(0);
        well(BN_mod_mul(result.get(), a.get(), b.get(), p_.get(), context_.get()));
        return result;
    }
    Number sum(const Number& a, const Number& b) {
        Number result = of(0);
        well(BN_mod_add(result.get(), a.get(), b.get(), p_.get(), context_.get()));
        return result;
    }
    Number difference(const Number& a, const Number& b) {
        Number result = of(0);
        well(BN_mod_sub(result.get(), a.get(), b.get(), p_.get(), context_.get()));
        return result;
    }
    Number inverse(const Number& a) {
        Number result = of(0);
        well(BN_mod_inverse(result.get(), a.get(), p_.get(), context_.get()) != nullptr);
        return result;
    }
    bool is_square(const Number& a) {
        const int symbol = BN_kronecker(a.get(), p_.get(), context_.get());
        well(symbol != -2);
        return symbol >= 0;
    }
    bool contains(const Number& a) const { return BN_cmp(a.get(), p_.get()) < 0; }

 private:
    /// These operations fail only if memory runs out.
    static void well(bool holds) { HOLDFAST_ASSERT(holds); }

    std::unique_ptr<BN_CTX, FreeNumbers> context_;
    Number p_;
};

}  // namespace

bool is_public_key_point(std::string_view bytes) {
    if (bytes.size() != public_key_bytes) return false;
    Field field;
    std::string encoded(bytes);
    encoded.back() = static_cast<char>(encoded.back() & 0x7f);  // the sign of x
    const Number y{BN_lebin2bn(reinterpret_cast<const unsigned char*>(encoded.data()), public_key_bytes, nullptr)};
    HOLDFAST_ASSERT(y != nullptr);
    if (!field.contains(y)) return false;

    const Number one = field.of(1);
    const Number d = field.difference(field.of(0), field.product(field.of(121665), field.inverse(field.of(121666))));
    const Number y2 = field.product(y, y);
    const Number above = field.difference(y2, one);  // x² = (y² - 1) / (d y² + 1)
    const Number below = field.sum(field.product(d, y2), one);
    if (!field.is_square(field.product(above, below))) return false;  // a quotient is a square if the product is

    // y = 0 has order 4; y² = 1 has order 1 or 2; points whose double has y = 0 have order 8.
    if (BN_is_zero(y.get()) || BN_is_zero(above.get())) return false;
    const Number eighth = field.difference(field.sum(field.product(d, field.product(y2, y2)), field.sum(y2, y2)), one);
    return !BN_is_zero(eighth.get());
}

}  // namespace holdfast::discovery::identity
