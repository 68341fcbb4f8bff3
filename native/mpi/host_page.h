/* The shared page behind host_clock, and the search for it. */
#ifndef AFERIR_MPI_HOST_PAGE_H
#define AFERIR_MPI_HOST_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

#include "calibration.h"

struct host_page {
    _Atomic uint32_t attached;
    _Atomic uint32_t nameless;
    uint32_t uses_counter; /* 0: read CLOCK_MONOTONIC_RAW */
    uint64_t identity;

    /* The timeline, behind a sequence counter: odd during an update, 0 before the first. */
    _Atomic uint32_t generation;
    _Atomic uint32_t shift;
    _Atomic uint64_t mult;
    _Atomic uint64_t base_counter;
    _Atomic uint64_t base_ns;

    _Atomic uint32_t lock; /* for the fields below and for updates; nobody waits for it */
    struct calibration calibration;
    struct witness checked;
    double suspect;
};

/* Maps the page called `name` if some process uses it, without joining it; NULL if not. */
struct host_page* host_page_find(const char* name);
/* Joins the page `found`, or, if that is NULL, the one called `name`, which is made if no
 * process uses it. Returns a private page if that is impossible; never fails. */
struct host_page* host_page_join(struct host_page* found, const char* name,
                                 const struct witness* first, int uses_counter);
/* Removes the name: no further process can join, and nothing is left when the last one ends. */
void host_page_unlink(struct host_page* page, const char* name);

#endif
