#include "wire.h"

#include <string.h>

static const uint8_t MAGIC[4] = {'R', 'G', 'A', 'P'};

static uint64_t get64(const uint8_t* at) {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) {
        value = value << 8 | at[i];
    }
    return value;
}

static uint32_t get32(const uint8_t* at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void put64(uint8_t* at, uint64_t value) {
    for (int i = 0; i < 8; ++i) {
        at[i] = (uint8_t)(value >> (56 - 8 * i));
    }
}

static void put32(uint8_t* at, uint32_t value) {
    for (int i = 0; i < 4; ++i) {
        at[i] = (uint8_t)(value >> (24 - 8 * i));
    }
}

enum wire_verdict rgap_wire_parse(const uint8_t* data, size_t length, struct message* out) {
    if (length != WIRE_SIZE || memcmp(data, MAGIC, sizeof(MAGIC)) != 0 || data[4] != WIRE_VERSION ||
        data[5] < WIRE_HELLO || data[5] > WIRE_TELL || data[7] != 0) {
        return WIRE_MALFORMED;
    }
    out->type = data[5];
    out->level = data[6];
    out->session = get64(data + 8);
    out->sequence = get32(data + 16);
    out->previous = get32(data + 20);
    out->cookie = get64(data + 24);
    out->t2 = get64(data + 32);
    out->t3 = get64(data + 40);
    out->bound_ns = get64(data + 48);
    out->timeline = get64(data + 56);
    out->rate_doubt_ppb = get32(data + 64);
    out->revision = get32(data + 68);
    out->nonce = get64(data + 72);
    return WIRE_OK;
}

enum wire_verdict rgap_wire_open(const struct hmac_key* key, const uint8_t* data, size_t length,
                                 struct message* out) {
    enum wire_verdict verdict = rgap_wire_parse(data, length, out);
    if (verdict != WIRE_OK) {
        return verdict;
    }
    uint8_t digest[SHA256_DIGEST];
    rgap_hmac(key, data, WIRE_TAG_AT, digest);
    return rgap_hmac_equal(digest, data + WIRE_TAG_AT, WIRE_TAG) ? WIRE_OK : WIRE_FOREIGN;
}

void rgap_wire_seal(const struct hmac_key* key, const struct message* message,
                    uint8_t out[WIRE_SIZE]) {
    memcpy(out, MAGIC, sizeof(MAGIC));
    out[4] = WIRE_VERSION;
    out[5] = message->type;
    out[6] = message->level;
    out[7] = 0;
    put64(out + 8, message->session);
    put32(out + 16, message->sequence);
    put32(out + 20, message->previous);
    put64(out + 24, message->cookie);
    put64(out + 32, message->t2);
    put64(out + 40, message->t3);
    put64(out + 48, message->bound_ns);
    put64(out + 56, message->timeline);
    put32(out + 64, message->rate_doubt_ppb);
    put32(out + 68, message->revision);
    put64(out + 72, message->nonce);
    uint8_t digest[SHA256_DIGEST];
    rgap_hmac(key, out, WIRE_TAG_AT, digest);
    memcpy(out + WIRE_TAG_AT, digest, WIRE_TAG);
}
