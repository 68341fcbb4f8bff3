/* Reads the global clock, and the facts that it reports of itself. */
#include <string.h>

#include "rgap_private.h"

int rgap_at(struct rgap* clock, uint64_t local_ns, uint64_t* time_ns, uint64_t* bound_ns) {
    if (clock == NULL || time_ns == NULL || bound_ns == NULL) {
        return RGAP_ERROR_ARGUMENT;
    }
    /* The model must be read first: a doubt only grows, and the model contains its value at the
     * time of the look. */
    struct model model = rgap_published(clock).model;
    struct rgap_doubt doubt = rgap_doubt_of(clock);
    rgap_model_read(&model, local_ns, &doubt, time_ns, bound_ns);
    return RGAP_OK;
}

int rgap_now(struct rgap* clock, uint64_t* time_ns, uint64_t* bound_ns) {
    if (clock == NULL) {
        return RGAP_ERROR_ARGUMENT;
    }
    return rgap_at(clock, clock->source.now_ns(clock->source.context), time_ns, bound_ns);
}

int rgap_info(struct rgap* clock, struct rgap_facts* out) {
    if (clock == NULL || out == NULL) {
        return RGAP_ERROR_ARGUMENT;
    }
    pthread_mutex_lock(&clock->lock);
    *out = clock->facts;
    pthread_mutex_unlock(&clock->lock);
    return RGAP_OK;
}

static uint64_t process_now(void* context) { return rvec_process_now(context); }

static void rvec_doubt(void* context, struct rgap_doubt* out) {
    rvec_process_doubt(context, &out->ns, &out->ppb);
}

struct rgap_source rgap_source_rvec(struct rvec* rvec) {
    struct rgap_source source = {rvec, process_now, rvec_doubt};
    return source;
}

const char* rgap_strerror(int status) {
    switch (status) {
        case RGAP_OK:
            return "success";
        case RGAP_ERROR_ARGUMENT:
            return "an argument is missing or out of its range";
        case RGAP_ERROR_MEMORY:
            return "out of memory";
        case RGAP_ERROR_SYSTEM:
            return "the operating system refused a socket, a thread or random numbers; see errno";
        case RGAP_ERROR_ADDRESS:
            return "the server's address cannot be resolved";
        case RGAP_ERROR_NO_ANSWER:
            return "no server with this key answered in time";
        case RGAP_ERROR_OTHER_TIMELINE:
            return "the server's time is another one than before: it was restarted or set anew";
        default:
            return "unknown status";
    }
}
