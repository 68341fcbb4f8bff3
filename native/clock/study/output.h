/* The one line of JSON that a study prints: samples, series and doubts, in base units. */
#ifndef AFERIR_CLOCK_OUTPUT_H
#define AFERIR_CLOCK_OUTPUT_H

#include <stddef.h>

struct output;

/* Begins a line; NULL without memory. */
struct output* output_begin(void);
/* The unit is in the metric's name: "duration_s". A value that is not finite is printed as null. */
void output_sample(struct output* output, const char* metric, double value, const char* unit);
/* Adds a curve: `values` at the numbers `at` of the quantity `along`. `label` tells the curves of
 * one metric apart. */
void output_curve(struct output* output, const char* metric, const char* unit, const char* label,
                  const char* along, const char* along_unit, const double* at, const double* values,
                  size_t count);
/* Adds a value for each of the words in `at`, e.g. the name of a clock. */
void output_named(struct output* output, const char* metric, const char* unit, const char* label,
                  const char* along, const char* const* at, const double* values, size_t count);
void output_doubt(struct output* output, const char* code, const char* message, const char* advice);
/* Prints the line and frees all. Returns whether it could be printed. */
int output_end(struct output* output, const char* study, double duration_s);
/* Prints this line instead if the study's own arithmetic was found wrong. */
void output_unverified(const char* study, const char* error);

#endif
