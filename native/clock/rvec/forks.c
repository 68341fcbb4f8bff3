#include "forks.h"

#include <stddef.h>

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct fork_member* first;

static void before(void) {
    pthread_mutex_lock(&list_lock);
    for (struct fork_member* at = first; at != NULL; at = at->next) {
        pthread_mutex_lock(at->lock);
    }
}

static void in_parent(void) {
    for (struct fork_member* at = first; at != NULL; at = at->next) {
        pthread_mutex_unlock(at->lock);
    }
    pthread_mutex_unlock(&list_lock);
}

static void in_child(void) {
    for (struct fork_member* at = first; at != NULL; at = at->next) {
        if (at->in_child != NULL) {
            at->in_child(at);
        }
    }
    in_parent();
}

static void watch(void) { pthread_atfork(before, in_parent, in_child); }

void rvec_forks_add(struct fork_member* member) {
    pthread_once(&once, watch);
    pthread_mutex_lock(&list_lock);
    member->next = first;
    member->link = &first;
    if (first != NULL) {
        first->link = &member->next;
    }
    first = member;
    pthread_mutex_unlock(&list_lock);
}

void rvec_forks_remove(struct fork_member* member) {
    if (member->link == NULL) {
        return;
    }
    pthread_mutex_lock(&list_lock);
    *member->link = member->next;
    if (member->next != NULL) {
        member->next->link = member->link;
    }
    pthread_mutex_unlock(&list_lock);
}
