/* HMAC-SHA-256 (RFC 2104), with the two key blocks hashed once. */
#ifndef AFERIR_CLOCK_HMAC_H
#define AFERIR_CLOCK_HMAC_H

#include "sha256.h"

struct hmac_key {
    struct sha256 inner;
    struct sha256 outer;
};

void rgap_hmac_prepare(struct hmac_key* key, const void* secret, size_t length);
void rgap_hmac(const struct hmac_key* key, const void* data, size_t length,
               uint8_t digest[SHA256_DIGEST]);

/* Compares in constant time, whatever the position of the first difference. */
int rgap_hmac_equal(const uint8_t* a, const uint8_t* b, size_t length);

#endif
