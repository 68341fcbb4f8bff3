/* Fuzzes the parser, and both ends' handling of datagrams, with arbitrary bytes.
 *
 * Built with -fsanitize=fuzzer this is a libFuzzer target; otherwise it has its own loop of random
 * mutations: wire_fuzz [cases]. */
#include <string.h>

#include "check.h"
#include "exchange.h"
#include "responder.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static const char KEY[] = "a key of 32 bytes for this test.";
static const struct filter_rule RULE = {5, 20, 20, 2000, 500, 250};
static struct hmac_key key;
static struct responder responder;
static struct exchange exchange;
static int prepared;

static void prepare(void) {
    uint8_t secret[SHA256_DIGEST] = {1};
    rgap_hmac_prepare(&key, KEY, 32);
    rgap_responder_start(&responder, KEY, 32, secret);
    rgap_exchange_start(&exchange, &key, &RULE, 1);
    prepared = 1;
}

/* A datagram that cannot be authentic must have no effect; one that is parsed must be the same when
 * written again. */
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (!prepared) {
        prepare();
    }
    struct message message;
    if (rgap_wire_parse(data, size, &message) == WIRE_OK) {
        uint8_t again[WIRE_SIZE];
        rgap_wire_seal(&key, &message, again);
        CHECK(memcmp(again, data, WIRE_TAG_AT) == 0);
        if (memcmp(again, data, WIRE_SIZE) == 0) {
            return 0; /* the right tag: no forgery */
        }
    }
    uint8_t reply[WIRE_SIZE];
    const struct peer peer = {{0}};
    const struct server_time time = {1, 2, 3, 4, 5, 6};
    const struct stamp stamp = {1, 0, 1};
    CHECK(rgap_wire_open(&key, data, size, &message) != WIRE_OK);
    CHECK(rgap_responder_handle(&responder, data, size, &peer, 1, &time, reply) == 0);
    CHECK(rgap_exchange_receive(&exchange, data, size, &stamp) == EXCHANGE_IGNORED);
    return 0;
}

#ifndef AFERIR_LIBFUZZER
/* Changes a sealed datagram: flips bits, sets bytes, cuts or lengthens it; a few inputs are all
 * random. */
static size_t mutate(uint8_t* data, uint64_t* seed) {
    const struct message message = {
        (uint8_t)(1 + random_below(seed, 4)), 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    size_t size = WIRE_SIZE;
    static uint8_t sealed[5][WIRE_SIZE];
    if (sealed[message.type][0] == 0) {
        rgap_wire_seal(&key, &message, sealed[message.type]);
    }
    memcpy(data, sealed[message.type], WIRE_SIZE);
    for (uint64_t left = 1 + random_below(seed, 6); left > 0; --left) {
        size_t at = random_below(seed, WIRE_SIZE);
        if (random_below(seed, 2)) {
            data[at] ^= (uint8_t)(1 << random_below(seed, 8));
        } else {
            data[at] = (uint8_t)random_next(seed);
        }
    }
    switch (random_below(seed, 16)) {
        case 0:
            size = random_below(seed, WIRE_SIZE + 32);
            break;
        case 1:
            for (size_t i = 4; i < WIRE_SIZE; ++i) {
                data[i] = (uint8_t)random_next(seed);
            }
            break;
        default:
            break;
    }
    return size;
}

int main(int argc, char** argv) {
    uint64_t cases = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000, seed = 20150001;
    prepare();
    for (uint64_t i = 0; i < cases; ++i) {
        uint8_t data[WIRE_SIZE + 32] = {0};
        size_t size = mutate(data, &seed);
        /* On the heap and of the exact size, so that AddressSanitizer notices a read past the end.
         * */
        uint8_t* exact = malloc(size > 0 ? size : 1);
        CHECK(exact != NULL);
        memcpy(exact, data, size);
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
    printf("%llu cases: malformed %llu, foreign %llu\n", (unsigned long long)cases,
           (unsigned long long)responder.counts.malformed,
           (unsigned long long)responder.counts.foreign);
    return 0;
}
#endif
