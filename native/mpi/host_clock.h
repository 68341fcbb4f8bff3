/* One clock for all ranks of a host.
 *
 * Each process could calibrate the counter by itself, but two calibrations differ by some 0.1
 * ppm and the ranks of one host would drift apart by more than a reading takes within a second.
 * So the timeline { base_counter, base_ns, rate } is in a page of shared memory: the first
 * process writes it, all read it, and none waits for another. It follows CLOCK_MONOTONIC_RAW,
 * which is read itself until the counter's rate is known, or where the counter cannot be
 * trusted. */
#ifndef AFERIR_MPI_HOST_CLOCK_H
#define AFERIR_MPI_HOST_CLOCK_H

#include <stdint.h>

/* Takes the first look at counter and reference clock; the longer this is before
 * host_clock_calibrate, the better the rate. */
void host_clock_prepare(void);
/* Maps the page of that name if another process has made it, for host_clock_attach to join. */
void host_clock_find(const char* name);
/* Joins the page that other processes of the same user share under this name; makes a private page
   if that fails. */
void host_clock_attach(const char* name);
/* Removes the page's name, in case the job does not start. */
void host_clock_leave(void);
/* Takes the second look, unless another process has done so or is doing so, and removes the
   page's name. */
void host_clock_calibrate(void);

/* Nanoseconds since the host was started, by this thread's reader. May be called by any thread
   at any time. */
uint64_t host_clock_ns(void);

uint64_t host_clock_identity(void);
uint32_t host_clock_attached(void); /* number of processes that have joined the page */
double host_clock_tick_s(void);

/* Size of the longest name, with its terminator. */
enum { HOST_CLOCK_NAME = 64 };
/* Writes a name for the job that this process belongs to. */
void host_clock_name(char out[HOST_CLOCK_NAME]);

#endif
