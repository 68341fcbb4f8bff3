/* SHA-256 (FIPS 180-4). Small rather than fast: an exchange hashes a few hundred bytes. */
#ifndef AFERIR_CLOCK_SHA256_H
#define AFERIR_CLOCK_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BLOCK = 64, SHA256_DIGEST = 32 };

struct sha256 {
    uint32_t state[8];
    uint64_t length;
    uint8_t block[SHA256_BLOCK];
};

void rgap_sha256_start(struct sha256* hash);
void rgap_sha256_add(struct sha256* hash, const void* data, size_t length);
void rgap_sha256_finish(struct sha256* hash, uint8_t digest[SHA256_DIGEST]);

#endif
