#define _GNU_SOURCE
#include "host_page.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_clock.h"

enum { NEW = 0, WRITING = 1, READY = 2 };

/* A process that was stopped between WRITING and READY must not stop the others. */
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
    atomic_store_explicit(&page->ready, READY, memory_order_release);
}

/* Somebody else's file of that name, or a link to one, is not to be trusted or written to. */
static int is_ours(int file) {
    struct stat about;
    return fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
           (about.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

static struct host_page* map(const char* name, int create) {
    int file = shm_open(name, O_RDWR | O_NOFOLLOW | create, S_IRUSR | S_IWUSR);
    if (file < 0) {
        return NULL;
    }
    void* page = MAP_FAILED;
    /* To the same size by everybody: growing an equal file changes nothing. */
    if (is_ours(file) && ftruncate(file, sizeof(struct host_page)) == 0) {
        page = mmap(NULL, sizeof(struct host_page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    close(file);
    return page == MAP_FAILED ? NULL : page;
}

static int is_ready(struct host_page* page) {
    for (int i = 0; i < PATIENCE; ++i) {
        if (atomic_load_explicit(&page->ready, memory_order_acquire) == READY) {
            return 1;
        }
        sched_yield();
    }
    return 0;
}

struct host_page* host_page_find(const char* name) {
    struct host_page* page = map(name, 0);
    if (page != NULL && atomic_load_explicit(&page->ready, memory_order_acquire) != READY) {
        munmap(page, sizeof(*page));
        page = NULL;
    }
    return page;
}

struct host_page* host_page_join(struct host_page* found, const char* name,
                                 const struct witness* first, int uses_counter) {
    struct host_page* page = found != NULL ? found : map(name, O_CREAT);
    if (page != NULL && page != found) {
        uint32_t expected = NEW;
        if (atomic_compare_exchange_strong(&page->ready, &expected, WRITING)) {
            fill(page, first, uses_counter);
        } else if (!is_ready(page)) {
            munmap(page, sizeof(*page));
            page = NULL;
        }
    }
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
