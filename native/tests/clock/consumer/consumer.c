/* Uses the installed libraries: starts a server, synchronises a clock with it, and reads it. */
#include <aferir/rgap.h>
#include <stdio.h>

/* Names that a program may use for functions of its own: linking would fail if a library exported
 * them. */
void hmac(void);
void judge(void);
void hmac(void) {}
void judge(void) {}

int main(void) {
    static const unsigned char key[32] = "a key that only this test uses.";
    struct rvec* rvec;
    struct rgap* clock;
    struct rgap_server* server;
    struct rgap_server_config serving;
    struct rgap_server_facts facts;
    struct rgap_config config;
    uint64_t time_ns, bound_ns;
    if (rvec_open(&rvec, NULL) != RVEC_OK) {
        return 1;
    }
    rgap_server_config_init(&serving);
    serving.port = 0;
    serving.key = key, serving.key_length = sizeof(key);
    serving.source = rgap_source_rvec(rvec);
    if (rgap_server_start(&server, &serving) != RGAP_OK ||
        rgap_server_info(server, &facts) != RGAP_OK) {
        return 2;
    }
    rgap_config_init(&config);
    config.address = "127.0.0.1", config.port = facts.port;
    config.key = key, config.key_length = sizeof(key);
    config.source = rgap_source_rvec(rvec);
    if (rgap_create(&clock, &config) != RGAP_OK ||
        rgap_now(clock, &time_ns, &bound_ns) != RGAP_OK) {
        return 3;
    }
    printf("%llu ns, within %llu ns\n", (unsigned long long)time_ns, (unsigned long long)bound_ns);
    rgap_destroy(clock);
    rgap_server_stop(server);
    rvec_close(rvec);
    return 0;
}
