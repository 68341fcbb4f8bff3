#include "hmac.h"

#include <string.h>

#include "check.h"

static void check_hex(const uint8_t* bytes, const char* hex, size_t length) {
    for (size_t i = 0; i < length; ++i) {
        unsigned byte = 0;
        CHECK(sscanf(hex + 2 * i, "%2x", &byte) == 1);
        CHECK(bytes[i] == byte);
    }
}

static void check_sha256(const char* text, const char* hex) {
    struct sha256 hash;
    uint8_t digest[SHA256_DIGEST];
    rgap_sha256_start(&hash);
    rgap_sha256_add(&hash, text, strlen(text));
    rgap_sha256_finish(&hash, digest);
    check_hex(digest, hex, sizeof(digest));
}

/* FIPS 180-4 examples. */
static void hashes_the_standard_examples(void) {
    check_sha256("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_sha256("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void hashes_a_million_letters_in_odd_pieces(void) {
    struct sha256 hash;
    uint8_t digest[SHA256_DIGEST];
    char letters[997];
    memset(letters, 'a', sizeof(letters));
    rgap_sha256_start(&hash);
    for (size_t left = 1000000; left > 0;) {
        size_t part = left < sizeof(letters) ? left : sizeof(letters);
        rgap_sha256_add(&hash, letters, part);
        left -= part;
    }
    rgap_sha256_finish(&hash, digest);
    check_hex(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0", 32);
}

static void check_hmac(const void* secret, size_t secret_length, const void* data, size_t length,
                       const char* hex) {
    struct hmac_key key;
    uint8_t digest[SHA256_DIGEST];
    rgap_hmac_prepare(&key, secret, secret_length);
    rgap_hmac(&key, data, length, digest);
    check_hex(digest, hex, strlen(hex) / 2);
}

/* RFC 4231, section 4. */
static void authenticates_the_test_cases(void) {
    uint8_t b[131], dd[50], cd[50], counting[25];
    memset(b, 0x0b, sizeof(b));
    memset(dd, 0xdd, sizeof(dd));
    memset(cd, 0xcd, sizeof(cd));
    for (size_t i = 0; i < sizeof(counting); ++i) {
        counting[i] = (uint8_t)(i + 1);
    }
    check_hmac(b, 20, "Hi There", 8,
               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    check_hmac("Jefe", 4, "what do ya want for nothing?", 28,
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(b, 0xaa, sizeof(b));
    check_hmac(b, 20, dd, 50, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    check_hmac(counting, 25, cd, 50,
               "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
    uint8_t c[20];
    memset(c, 0x0c, sizeof(c));
    check_hmac(c, 20, "Test With Truncation", 20, "a3b6167473100ee06e0c796c2955552b");
    const char* long_key = "Test Using Larger Than Block-Size Key - Hash Key First";
    check_hmac(b, 131, long_key, strlen(long_key),
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    const char* long_both =
        "This is a test using a larger than block-size key and a larger than block-size data. The "
        "key needs to be hashed before being used by the HMAC algorithm.";
    check_hmac(b, 131, long_both, strlen(long_both),
               "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

static void compares_all_bytes(void) {
    uint8_t a[16] = {0}, b[16] = {0};
    CHECK(rgap_hmac_equal(a, b, 16));
    for (int i = 0; i < 16; ++i) {
        b[i] = 1;
        CHECK(!rgap_hmac_equal(a, b, 16));
        b[i] = 0;
    }
}

int main(void) {
    RUN(hashes_the_standard_examples);
    RUN(hashes_a_million_letters_in_odd_pieces);
    RUN(authenticates_the_test_cases);
    RUN(compares_all_bytes);
    return 0;
}
