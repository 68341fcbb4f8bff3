/* One clock for all ranks of a host.
 *
 * Each process could calibrate the counter by itself, but two calibrations differ by some 0.1 ppm
 * and the ranks of one host would drift apart by more than a reading takes within a second. So the
 * timeline { base_counter, base_ns, rate } is in a page of shared memory: whoever comes first
 * writes it, all read it, nobody waits for anybody. It follows CLOCK_MONOTONIC_RAW, which is what
 * is read until the counter's rate is known, or where the counter cannot be trusted. */
#ifndef AFERIR_MPI_HOST_CLOCK_H
#define AFERIR_MPI_HOST_CLOCK_H

#include <stdint.h>

/* Takes the first look at counter and reference clock; the longer before host_clock_calibrate, the
 * better the rate. */
void host_clock_prepare(void);
/* Maps the page of that name if another process has made it, for host_clock_attach to join. */
void host_clock_find(const char* name);
/* Joins the page that processes of the same user name alike; one of its own if that fails. */
void host_clock_attach(const char* name);
/* Removes the page's name: the job that it was for does not begin. */
void host_clock_leave(void);
/* Takes the second look unless another process has or does, and removes the page's name. */
void host_clock_calibrate(void);

/* Nanoseconds since the host was started, by this thread's reader. Any time, any thread. */
uint64_t host_clock_ns(void);

uint64_t host_clock_identity(void);
uint32_t host_clock_attached(void); /* processes that have joined the page */
double host_clock_tick_s(void);

/* The largest name, with its end. */
enum { HOST_CLOCK_NAME = 64 };
/* A name for the job that this process belongs to. */
void host_clock_name(char out[HOST_CLOCK_NAME]);

#endif
