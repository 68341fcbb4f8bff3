#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const char USAGE[] =
    "usage: aferir-clock-bench [info] [costs] [ecp] [refinements] [sync] [bound] [options]\n"
    "Measures clocks and prints one JSON object a line; what the counter is comes last, always.\n"
    "  --rounds N            interleaved rounds of read costs (2000)\n"
    "  --reads N             readings for the ECP counts (100000000)\n"
    "  --syncs N             one-shot synchronisations (200)\n"
    "  --seconds N           to watch clocks against their bounds, 10,000 checks each (10)\n"
    "  --address A           address that the server binds and the client asks (127.0.0.1)\n"
    "  --server-netns NAME   network namespaces of the two ends\n"
    "  --client-netns NAME\n"
    "  --server-cpu N        pin the server's thread (not pinned)\n"
    "  --user-stamps         do without the kernel's time stamps\n";

static const struct option OPTIONS[] = {{"rounds", required_argument, NULL, 'r'},
                                        {"reads", required_argument, NULL, 'n'},
                                        {"syncs", required_argument, NULL, 's'},
                                        {"seconds", required_argument, NULL, 't'},
                                        {"address", required_argument, NULL, 'a'},
                                        {"server-netns", required_argument, NULL, 'S'},
                                        {"client-netns", required_argument, NULL, 'C'},
                                        {"server-cpu", required_argument, NULL, 'c'},
                                        {"user-stamps", no_argument, NULL, 'u'},
                                        {"help", no_argument, NULL, 'h'},
                                        {NULL, 0, NULL, 0}};

static uint64_t number(const char* text) {
    char* end;
    uint64_t value = strtoull(text, &end, 10);
    if (*text == '\0' || *text == '-' || *end != '\0' || value == 0) {
        fprintf(stderr, "aferir-clock-bench: not a positive number: %s\n", text);
        exit(2);
    }
    return value;
}

static void parse(int argc, char** argv, struct bench_options* options) {
    for (int key; (key = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;) {
        switch (key) {
            case 'r':
                options->rounds = (uint32_t)number(optarg);
                break;
            case 'n':
                options->reads = number(optarg);
                break;
            case 's':
                options->syncs = (uint32_t)number(optarg);
                break;
            case 't':
                options->seconds = (uint32_t)number(optarg);
                break;
            case 'a':
                options->server_address = optarg;
                break;
            case 'S':
                options->server_netns = optarg;
                break;
            case 'C':
                options->client_netns = optarg;
                break;
            case 'c':
                options->server_cpu = atoi(optarg);
                break;
            case 'u':
                options->user_stamps = 1;
                break;
            default:
                fputs(USAGE, key == 'h' ? stdout : stderr);
                exit(key == 'h' ? 0 : 2);
        }
    }
}

static void check_parts(int argc, char** argv) {
    static const char* const PARTS[] = {"info", "costs", "ecp", "refinements", "sync", "bound"};
    for (int i = optind; i < argc; ++i) {
        int known = 0;
        for (size_t k = 0; k < sizeof(PARTS) / sizeof(*PARTS); ++k) {
            known |= strcmp(argv[i], PARTS[k]) == 0;
        }
        if (!known) {
            fprintf(stderr, "aferir-clock-bench: no such part: %s\n%s", argv[i], USAGE);
            exit(2);
        }
    }
}

static void print_info(struct rvec* rvec) {
    struct rvec_facts facts;
    rvec_info(rvec, &facts);
    printf(
        "{\"bench\": \"counter\", \"counter\": \"%s\", \"frequency_hz\": %.3f, "
        "\"uncertainty_ppb\": %.3f, \"invariance\": %d, \"cores\": %u, "
        "\"cores_checked\": %u, \"jumps\": %llu, \"rate_changes\": %llu, \"doubt_ns\": %llu}\n",
        facts.counter, facts.frequency_hz, facts.uncertainty_ppb, (int)facts.invariance,
        facts.cores, facts.cores_checked, (unsigned long long)facts.jumps,
        (unsigned long long)facts.rate_changes, (unsigned long long)facts.doubt_ns);
    for (uint32_t core = 0; core < facts.cores; ++core) {
        struct rvec_core_offset offset;
        if (rvec_get_offset(rvec, core, &offset) != RVEC_OK || !offset.measured) {
            continue;
        }
        printf(
            "{\"bench\": \"core_offset\", \"core\": %u, \"offset_ticks\": %lld, "
            "\"uncertainty_ticks\": %llu, \"applied\": %d}\n",
            core, (long long)offset.offset_ticks, (unsigned long long)offset.uncertainty_ticks,
            offset.applied);
    }
}

static int is_wanted(int argc, char** argv, const char* part) {
    for (int i = optind; i < argc; ++i) {
        if (strcmp(argv[i], part) == 0) {
            return 1;
        }
    }
    return optind == argc;
}

int main(int argc, char** argv) {
    struct bench_options options = {100000000, 2000, 200, 10, NULL, NULL, "127.0.0.1", -1, 0};
    parse(argc, argv, &options);
    check_parts(argc, argv);
    struct rvec_options open_options = {0};
    open_options.calibration_ns = 100000000;
    struct rvec* rvec;
    int status = rvec_open(&rvec, &open_options);
    if (status != RVEC_OK) {
        fprintf(stderr, "aferir-clock-bench: %s\n", rvec_strerror(status));
        return 1;
    }
    int failed = 0;
    status = rvec_measure_offsets(rvec);
    if (status != RVEC_OK) {
        fprintf(stderr, "aferir-clock-bench: offsets of cores: %s\n", rvec_strerror(status));
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (is_wanted(argc, argv, "costs")) {
        failed |= bench_costs(rvec, &options);
    }
    if (is_wanted(argc, argv, "ecp")) {
        failed |= bench_ecp(rvec, &options);
    }
    if (is_wanted(argc, argv, "refinements")) {
        failed |= bench_refinements(&options);
    }
    if (is_wanted(argc, argv, "sync")) {
        failed |= bench_sync(rvec, &options);
    }
    if (is_wanted(argc, argv, "bound")) {
        failed |= bench_bound(rvec, &options);
    }
    print_info(rvec);
    rvec_close(rvec);
    return failed;
}
