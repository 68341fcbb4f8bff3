#include "wire.h"

#include <string.h>

#include "check.h"

static struct hmac_key key;
static const struct message EXAMPLE = {
    WIRE_TELL, 3, 0x0102030405060708U, 77, 76,         0x1112131415161718U, 0xfffffffffffffffeU,
    5,         9, 0xdeadbeefcafef00dU, 42, 0x80000001, 0x99aabbccddeeff00U};

static void comes_back_as_it_went(void) {
    uint8_t data[WIRE_SIZE];
    struct message back;
    memset(&back, 0, sizeof(back));
    rgap_wire_seal(&key, &EXAMPLE, data);
    CHECK(rgap_wire_open(&key, data, sizeof(data), &back) == WIRE_OK);
    uint8_t again[WIRE_SIZE];
    rgap_wire_seal(&key, &back, again);
    CHECK(memcmp(data, again, sizeof(data)) == 0);
    CHECK(back.t2 == EXAMPLE.t2 && back.nonce == EXAMPLE.nonce && back.level == 3);
    CHECK(back.revision == EXAMPLE.revision && back.previous == 76);
}

static void any_flipped_bit_is_noticed(void) {
    uint8_t data[WIRE_SIZE];
    struct message back;
    rgap_wire_seal(&key, &EXAMPLE, data);
    for (int bit = 0; bit < WIRE_SIZE * 8; ++bit) {
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK(rgap_wire_open(&key, data, sizeof(data), &back) != WIRE_OK);
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

static void any_other_length_is_malformed(void) {
    uint8_t data[WIRE_SIZE + 1] = {0};
    struct message back;
    rgap_wire_seal(&key, &EXAMPLE, data);
    for (size_t length = 0; length <= WIRE_SIZE + 1; ++length) {
        if (length != WIRE_SIZE) {
            CHECK(rgap_wire_open(&key, data, length, &back) == WIRE_MALFORMED);
        }
    }
}

static void another_key_is_foreign(void) {
    struct hmac_key other;
    rgap_hmac_prepare(&other, "another key of 32 bytes ........", 32);
    uint8_t data[WIRE_SIZE];
    struct message back;
    rgap_wire_seal(&other, &EXAMPLE, data);
    CHECK(rgap_wire_open(&key, data, sizeof(data), &back) == WIRE_FOREIGN);
}

int main(void) {
    rgap_hmac_prepare(&key, "a key of 32 bytes for this test.", 32);
    RUN(comes_back_as_it_went);
    RUN(any_flipped_bit_is_noticed);
    RUN(any_other_length_is_malformed);
    RUN(another_key_is_foreign);
    return 0;
}
