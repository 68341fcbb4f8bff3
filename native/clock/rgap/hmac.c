#include "hmac.h"

#include <string.h>

void rgap_hmac_prepare(struct hmac_key* key, const void* secret, size_t length) {
    uint8_t block[SHA256_BLOCK] = {0}, pad[SHA256_BLOCK];
    if (length > SHA256_BLOCK) {
        struct sha256 hash;
        rgap_sha256_start(&hash);
        rgap_sha256_add(&hash, secret, length);
        rgap_sha256_finish(&hash, block);
    } else {
        memcpy(block, secret, length);
    }
    for (size_t i = 0; i < SHA256_BLOCK; ++i) {
        pad[i] = block[i] ^ 0x36;
    }
    rgap_sha256_start(&key->inner);
    rgap_sha256_add(&key->inner, pad, sizeof(pad));
    for (size_t i = 0; i < SHA256_BLOCK; ++i) {
        pad[i] = block[i] ^ 0x5c;
    }
    rgap_sha256_start(&key->outer);
    rgap_sha256_add(&key->outer, pad, sizeof(pad));
}

void rgap_hmac(const struct hmac_key* key, const void* data, size_t length,
               uint8_t digest[SHA256_DIGEST]) {
    struct sha256 inner = key->inner, outer = key->outer;
    rgap_sha256_add(&inner, data, length);
    rgap_sha256_finish(&inner, digest);
    rgap_sha256_add(&outer, digest, SHA256_DIGEST);
    rgap_sha256_finish(&outer, digest);
}

int rgap_hmac_equal(const uint8_t* a, const uint8_t* b, size_t length) {
    volatile uint8_t difference = 0; /* volatile: no early exit may be made of the loop */
    for (size_t i = 0; i < length; ++i) {
        difference = (uint8_t)(difference | (a[i] ^ b[i]));
    }
    return difference == 0;
}
