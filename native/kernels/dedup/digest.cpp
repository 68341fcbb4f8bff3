#include "dedup/digest.hpp"

// Functions without providers, which a static program could not load.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

namespace aferir::dedup {

Digest sha256(std::span<const std::byte> data) {
    Digest digest{};
    SHA256_CTX state;
    SHA256_Init(&state);
    SHA256_Update(&state, data.data(), data.size());
    SHA256_Final(digest.data(), &state);
    return digest;
}

}  // namespace aferir::dedup
