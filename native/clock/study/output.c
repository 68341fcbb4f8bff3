#define _GNU_SOURCE
#include "output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct list {
    FILE* stream;
    char* text;
    size_t size;
    int count;
};

struct output {
    struct list samples, series, doubts;
};

static int open_list(struct list* list) {
    list->stream = open_memstream(&list->text, &list->size);
    return list->stream != NULL;
}

static void close_list(struct list* list) {
    if (list->stream != NULL) {
        fclose(list->stream);
    }
    free(list->text);
}

static void free_all(struct output* output) {
    close_list(&output->samples);
    close_list(&output->series);
    close_list(&output->doubts);
    free(output);
}

struct output* output_begin(void) {
    struct output* output = calloc(1, sizeof(*output));
    if (output != NULL && !(open_list(&output->samples) && open_list(&output->series) &&
                            open_list(&output->doubts))) {
        free_all(output);
        return NULL;
    }
    return output;
}

static void print_text(FILE* stream, const char* text) {
    fputc('"', stream);
    for (; *text != '\0'; ++text) {
        if (*text == '"' || *text == '\\') {
            fputc('\\', stream);
        }
        fputc((unsigned char)*text < ' ' ? ' ' : *text, stream);
    }
    fputc('"', stream);
}

static void print_field(FILE* stream, const char* key, const char* text) {
    fprintf(stream, "\"%s\": ", key);
    print_text(stream, text);
    fputs(", ", stream);
}

static void print_number(FILE* stream, double value) {
    if (isfinite(value)) {
        fprintf(stream, "%.9g", value);
    } else {
        fputs("null", stream);
    }
}

static void print_numbers(FILE* stream, const char* key, const double* values, size_t count) {
    fprintf(stream, "\"%s\": [", key);
    for (size_t i = 0; i < count; ++i) {
        fputs(i > 0 ? ", " : "", stream);
        print_number(stream, values[i]);
    }
    fputc(']', stream);
}

static FILE* next(struct list* list) {
    fputs(list->count++ > 0 ? ", {" : "{", list->stream);
    return list->stream;
}

void output_sample(struct output* output, const char* metric, double value, const char* unit) {
    FILE* stream = next(&output->samples);
    print_field(stream, "metric", metric);
    print_field(stream, "unit", unit);
    fputs("\"value\": ", stream);
    print_number(stream, value);
    fputc('}', stream);
}

static FILE* begin_series(struct output* output, const char* metric, const char* unit,
                          const char* label, const char* along, const char* along_unit) {
    FILE* stream = next(&output->series);
    print_field(stream, "metric", metric);
    print_field(stream, "unit", unit);
    print_field(stream, "label", label);
    print_field(stream, "along", along);
    print_field(stream, "along_unit", along_unit);
    return stream;
}

void output_curve(struct output* output, const char* metric, const char* unit, const char* label,
                  const char* along, const char* along_unit, const double* at, const double* values,
                  size_t count) {
    FILE* stream = begin_series(output, metric, unit, label, along, along_unit);
    print_numbers(stream, "at", at, count);
    fputs(", ", stream);
    print_numbers(stream, "values", values, count);
    fputc('}', stream);
}

void output_named(struct output* output, const char* metric, const char* unit, const char* label,
                  const char* along, const char* const* at, const double* values, size_t count) {
    FILE* stream = begin_series(output, metric, unit, label, along, "");
    fputs("\"at\": [", stream);
    for (size_t i = 0; i < count; ++i) {
        fputs(i > 0 ? ", " : "", stream);
        print_text(stream, at[i]);
    }
    fputs("], ", stream);
    print_numbers(stream, "values", values, count);
    fputc('}', stream);
}

void output_doubt(struct output* output, const char* code, const char* message,
                  const char* advice) {
    FILE* stream = next(&output->doubts);
    print_field(stream, "code", code);
    print_field(stream, "message", message);
    fputs("\"advice\": ", stream);
    print_text(stream, advice);
    fputc('}', stream);
}

int output_end(struct output* output, const char* study, double duration_s) {
    fflush(output->samples.stream);
    fflush(output->series.stream);
    fflush(output->doubts.stream);
    printf(
        "{\"program\": \"clock-study\", \"study\": \"%s\", \"verified\": true, "
        "\"duration_s\": %.9g, \"samples\": [%s], \"series\": [%s], \"doubts\": [%s]}\n",
        study, duration_s, output->samples.text, output->series.text, output->doubts.text);
    free_all(output);
    return fflush(stdout) == 0;
}

void output_unverified(const char* study, const char* error) {
    printf("{\"program\": \"clock-study\", \"study\": \"%s\", \"verified\": false, \"error\": ",
           study);
    print_text(stdout, error);
    fputs("}\n", stdout);
}
