// start: sets up the process that it is in, and becomes a program; for `aferir.linux.spawn`.
//
//   start HANDLE [parent=PID] [join=FILE]... [cpus=N,...] [control=OPTION,VALUE]... -- COMMAND...
//
// HANDLE is the writing end of a pipe, which the program does not inherit. What fails is written
// there as two integers: errno, and the index of the word that failed.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { kMostCpus = 65536, kRefused = 126, kFailed = 127 };

/// Has the kernel end this process with the thread that made it, in the process `parent`.
static int end_with(const char* parent) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
        return -1;
    }
    if (getppid() != atoi(parent)) {  // it died before the request took effect
        _exit(kFailed);
    }
    return 0;
}

/// Makes this process a member of the control group whose cgroup.procs is `path`; 0 stands for the
/// writer itself (cgroups(7)).
static int join(const char* path) {
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) {
        return -1;
    }
    const ssize_t written = write(file, "0", 1);
    const int error = errno;
    close(file);
    errno = error;
    return written == 1 ? 0 : -1;
}

static int run_on(const char* numbers) {
    cpu_set_t* const set = CPU_ALLOC(kMostCpus);
    if (set == NULL) {
        return -1;
    }
    const size_t size = CPU_ALLOC_SIZE(kMostCpus);
    CPU_ZERO_S(size, set);
    for (const char* at = numbers; at != NULL; at = strchr(at, ',')) {
        at += *at == ',' ? 1 : 0;
        CPU_SET_S(strtoul(at, NULL, 10), size, set);
    }
    const int done = sched_setaffinity(0, size, set);
    CPU_FREE(set);
    return done;
}

static int control(const char* pair) {
    char* rest = NULL;
    const long option = strtol(pair, &rest, 10);
    if (prctl((int)option, strtoul(rest + 1, NULL, 10), 0, 0, 0) != 0) {
        _exit(kRefused);
    }
    return 0;
}

static int set_up(const char* word) {
    static const struct {
        const char* name;
        int (*act)(const char* value);
    } kSteps[] = {{"parent=", end_with}, {"join=", join}, {"cpus=", run_on}, {"control=", control}};
    for (size_t i = 0; i < sizeof kSteps / sizeof kSteps[0]; ++i) {
        const size_t length = strlen(kSteps[i].name);
        if (strncmp(word, kSteps[i].name, length) == 0) {
            return kSteps[i].act(word + length);
        }
    }
    errno = EINVAL;
    return -1;
}

/// Executes a program that is looked for as by execvp(3), but leaves a file without a format of
/// programs alone instead of handing it to a shell. Returns where it fails, with errno.
static void become(char* const* words) {
    if (strchr(words[0], '/') != NULL) {
        execv(words[0], words);
        return;
    }
    const char* const told = getenv("PATH");
    const char* folders = told != NULL ? told : "/bin:/usr/bin";
    int error = ENOENT;
    for (;;) {
        const char* const end = strchrnul(folders, ':');
        char* path = NULL;
        const char* const slash = end > folders ? "/" : "";  // an empty folder is the present one
        if (asprintf(&path, "%.*s%s%s", (int)(end - folders), folders, slash, words[0]) < 0) {
            return;
        }
        execv(path, words);
        free(path);
        error = errno == ENOENT || errno == ENOTDIR ? error : errno;
        if (*end == '\0') {
            break;
        }
        folders = end + 1;
    }
    errno = error;
}

int main(int count, char** words) {
    const int handle = count > 1 ? atoi(words[1]) : -1;
    const struct rlimit none = {0, 0};
    int at = 2;
    int done = fcntl(handle, F_SETFD, FD_CLOEXEC);
    done = done == 0 ? setrlimit(RLIMIT_CORE, &none) : done;
    while (done == 0 && at < count && strcmp(words[at], "--") != 0) {
        done = set_up(words[at]);
        at += done == 0 ? 1 : 0;
    }
    if (done == 0 && at + 1 < count) {
        become(&words[++at]);
    }
    const int failed[2] = {errno, at};
    return write(handle, failed, sizeof failed) == sizeof failed ? kFailed : kRefused;
}
