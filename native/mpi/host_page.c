#define _GNU_SOURCE
#include "host_page.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_clock.h"

/* Others hold the exclusive lock for as long as it takes to fill a page. One that was stopped there
 * must not stop this process: it goes on with a page of its own. */
enum { PATIENCE = 10000 };

static struct host_page private_page;

static void fill(struct host_page* page, const struct witness* first, int uses_counter) {
    if (getrandom(&page->identity, sizeof(page->identity), GRND_NONBLOCK) !=
        (ssize_t)sizeof(page->identity)) {
        page->identity = first->counter ^ ((uint64_t)getpid() << 40);
    }
    page->uses_counter = (uint32_t)uses_counter;
    page->calibration.first = *first;
    page->checked = *first;
}

/* Somebody else's file of that name, or a link to one, is not to be trusted or written to. */
static int is_ours(int file) {
    struct stat about;
    return fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
           (about.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

/* Whether the file still has this name: it may have been removed, or the name given to another
 * page, since the file was opened. */
static int still_has_name(int file, const char* name) {
    struct stat opened, named;
    int again = shm_open(name, O_RDONLY | O_NOFOLLOW, 0);
    int same = again >= 0 && fstat(file, &opened) == 0 && fstat(again, &named) == 0 &&
               opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
    if (again >= 0) {
        close(again);
    }
    return same;
}

static struct host_page* map(int file) {
    void* page = mmap(NULL, sizeof(struct host_page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return page == MAP_FAILED ? NULL : page;
}

/* Makes a page in an empty file, or in one that a killed job of the same name left behind, which is
 * emptied. The caller holds the exclusive lock, so nobody has it mapped. */
static struct host_page* make(int file, const struct witness* first, int uses_counter) {
    if (ftruncate(file, 0) != 0 || ftruncate(file, sizeof(struct host_page)) != 0) {
        return NULL;
    }
    struct host_page* page = map(file);
    if (page != NULL) {
        fill(page, first, uses_counter);
    }
    return page;
}

/* Joins the page in a file. Each process that uses a page holds a shared lock on its file, which
 * ends with the process however that ends; so whoever gets the exclusive lock knows that nobody
 * uses the page. If `first` is NULL, a page that nobody uses is not joined. */
static struct host_page* use_file(int file, const char* name, const struct witness* first,
                                  int uses_counter) {
    struct host_page* page = NULL;
    if (flock(file, LOCK_EX | LOCK_NB) == 0) {
        if (first == NULL || !still_has_name(file, name)) {
            return NULL;
        }
        page = make(file, first, uses_counter);
    }
    /* Between releasing one lock and taking the other, another process may have made the page anew
     * in this file. */
    if (flock(file, LOCK_SH | LOCK_NB) == 0 && still_has_name(file, name)) {
        return page != NULL ? page : map(file);
    }
    if (page != NULL) {
        munmap(page, sizeof(*page));
    }
    return NULL;
}

struct host_page* host_page_find(const char* name) {
    int file = shm_open(name, O_RDWR | O_NOFOLLOW, 0);
    struct host_page* page = file >= 0 && is_ours(file) ? use_file(file, name, NULL, 0) : NULL;
    if (file >= 0 && page == NULL) {
        close(file);
    }
    return page;
}

static struct host_page* find_or_make(const char* name, const struct witness* first,
                                      int uses_counter) {
    for (int i = 0; i < PATIENCE; ++i) {
        int file = shm_open(name, O_RDWR | O_NOFOLLOW | O_CREAT, S_IRUSR | S_IWUSR);
        if (file < 0) {
            return NULL;
        }
        int ours = is_ours(file);
        struct host_page* page = ours ? use_file(file, name, first, uses_counter) : NULL;
        if (page != NULL) {
            return page;
        }
        close(file);
        if (!ours) {
            return NULL;
        }
        sched_yield();
    }
    return NULL;
}

struct host_page* host_page_join(struct host_page* found, const char* name,
                                 const struct witness* first, int uses_counter) {
    struct host_page* page = found != NULL ? found : find_or_make(name, first, uses_counter);
    if (page == NULL) {
        page = &private_page;
        fill(page, first, uses_counter);
    }
    atomic_fetch_add(&page->attached, 1);
    return page;
}

void host_page_unlink(struct host_page* page, const char* name) {
    if (page != &private_page && atomic_exchange(&page->nameless, 1) == 0) {
        shm_unlink(name);
    }
}
