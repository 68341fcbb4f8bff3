/* The Fortran entry points: mpif.h, `use mpi` and `use mpi_f08`.
 *
 * Open MPI's Fortran library calls PMPI_* directly, and its f08 module initialises through
 * mpi_init_f08_; MPICH's sets up Fortran's constants in mpi_init_. So each of these functions has
 * to be replaced, and has to call its original, which is looked up at run time because a C program
 * has no Fortran library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <string.h>

#include "interpose.h"

/* Sets the argument ierror unless the caller omitted it. */
static void give_status(MPI_Fint* ierror, int status) {
    if (ierror != NULL) {
        *ierror = status;
    }
}

/* ISO C does not convert between object and function pointers; POSIX's dlsym needs it. */
#define ORIGINAL(type, name)              \
    type original = NULL;                 \
    void* found = dlsym(RTLD_NEXT, name); \
    memcpy((void*)&original, (const void*)&found, sizeof(original))

typedef void (*init_function)(MPI_Fint* ierror);
typedef void (*init_thread_function)(MPI_Fint* required, MPI_Fint* provided, MPI_Fint* ierror);
typedef void (*get_attr_function)(MPI_Fint* comm, MPI_Fint* keyval, void* value, MPI_Fint* flag,
                                  MPI_Fint* ierror);

static void init(const char* name, MPI_Fint* ierror) {
    MPI_Fint status = MPI_SUCCESS;
    ORIGINAL(init_function, name);
    interpose_before_init();
    if (original != NULL) {
        original(&status);
    } else {
        status = PMPI_Init(NULL, NULL);
    }
    interpose_after_init(status);
    give_status(ierror, status);
}

static void init_thread(const char* name, MPI_Fint* required, MPI_Fint* provided,
                        MPI_Fint* ierror) {
    MPI_Fint status = MPI_SUCCESS;
    ORIGINAL(init_thread_function, name);
    interpose_before_init();
    if (original != NULL) {
        original(required, provided, &status);
    } else {
        status = PMPI_Init_thread(NULL, NULL, *required, provided);
    }
    interpose_after_init(status);
    give_status(ierror, status);
}

static void finalize(const char* name, MPI_Fint* ierror) {
    MPI_Fint status = MPI_SUCCESS;
    ORIGINAL(init_function, name);
    interpose_before_finalize();
    if (original != NULL) {
        original(&status);
    } else {
        status = PMPI_Finalize();
    }
    give_status(ierror, status);
}

/* Fortran's attribute keys equal those of C in Open MPI; in MPICH they are greater by one. */
#if defined(MPICH_VERSION)
enum { FORTRAN_WTIME_IS_GLOBAL = MPI_WTIME_IS_GLOBAL + 1 };
#else
enum { FORTRAN_WTIME_IS_GLOBAL = MPI_WTIME_IS_GLOBAL };
#endif

static int is_ours(const MPI_Fint* comm, const MPI_Fint* keyval) {
    return *keyval == (MPI_Fint)FORTRAN_WTIME_IS_GLOBAL && interpose_is_global() &&
           PMPI_Comm_f2c(*comm) == MPI_COMM_WORLD;
}

/* In Fortran the value is no pointer but the value itself (MPI 3.1, section 17.2.7); the original
 * has set the flag to what this compiler calls true. */
static void comm_get_attr(const char* name, MPI_Fint* comm, MPI_Fint* keyval, MPI_Aint* value,
                          MPI_Fint* flag, MPI_Fint* ierror) {
    MPI_Fint status = MPI_ERR_OTHER;
    ORIGINAL(get_attr_function, name);
    if (original != NULL) {
        original(comm, keyval, value, flag, &status);
    }
    if (status == MPI_SUCCESS && *flag && is_ours(comm, keyval)) {
        *value = 1;
    }
    give_status(ierror, status);
}

static void attr_get(const char* name, MPI_Fint* comm, MPI_Fint* keyval, MPI_Fint* value,
                     MPI_Fint* flag, MPI_Fint* ierror) {
    MPI_Fint status = MPI_ERR_OTHER;
    ORIGINAL(get_attr_function, name);
    if (original != NULL) {
        original(comm, keyval, value, flag, &status);
    }
    if (status == MPI_SUCCESS && *flag && is_ours(comm, keyval)) {
        *value = 1;
    }
    give_status(ierror, status);
}

/* Fortran compilers differ in how they write a name for the linker. */
#define FOR_EACH_SPELLING(DEFINE, lower, UPPER) \
    DEFINE(lower)                               \
    DEFINE(lower##_)                            \
    DEFINE(lower##__)                           \
    DEFINE(UPPER)

#define DEFINE_INIT(name)        \
    void name(MPI_Fint* ierror); \
    void name(MPI_Fint* ierror) { init(#name, ierror); }

#define DEFINE_INIT_THREAD(name)                                          \
    void name(MPI_Fint* required, MPI_Fint* provided, MPI_Fint* ierror);  \
    void name(MPI_Fint* required, MPI_Fint* provided, MPI_Fint* ierror) { \
        init_thread(#name, required, provided, ierror);                   \
    }

#define DEFINE_FINALIZE(name)    \
    void name(MPI_Fint* ierror); \
    void name(MPI_Fint* ierror) { finalize(#name, ierror); }

#define DEFINE_WTIME(name) \
    double name(void);     \
    double name(void) { return interpose_wtime(); }

#define DEFINE_WTICK(name) \
    double name(void);     \
    double name(void) { return interpose_wtick(); }

#define DEFINE_COMM_GET_ATTR(name)                                               \
    void name(MPI_Fint* comm, MPI_Fint* keyval, MPI_Aint* value, MPI_Fint* flag, \
              MPI_Fint* ierror);                                                 \
    void name(MPI_Fint* comm, MPI_Fint* keyval, MPI_Aint* value, MPI_Fint* flag, \
              MPI_Fint* ierror) {                                                \
        comm_get_attr(#name, comm, keyval, value, flag, ierror);                 \
    }

#define DEFINE_ATTR_GET(name)                                                    \
    void name(MPI_Fint* comm, MPI_Fint* keyval, MPI_Fint* value, MPI_Fint* flag, \
              MPI_Fint* ierror);                                                 \
    void name(MPI_Fint* comm, MPI_Fint* keyval, MPI_Fint* value, MPI_Fint* flag, \
              MPI_Fint* ierror) {                                                \
        attr_get(#name, comm, keyval, value, flag, ierror);                      \
    }

FOR_EACH_SPELLING(DEFINE_INIT, mpi_init, MPI_INIT)
FOR_EACH_SPELLING(DEFINE_INIT_THREAD, mpi_init_thread, MPI_INIT_THREAD)
FOR_EACH_SPELLING(DEFINE_FINALIZE, mpi_finalize, MPI_FINALIZE)
FOR_EACH_SPELLING(DEFINE_WTIME, mpi_wtime, MPI_WTIME)
FOR_EACH_SPELLING(DEFINE_WTICK, mpi_wtick, MPI_WTICK)
FOR_EACH_SPELLING(DEFINE_COMM_GET_ATTR, mpi_comm_get_attr, MPI_COMM_GET_ATTR)
FOR_EACH_SPELLING(DEFINE_ATTR_GET, mpi_attr_get, MPI_ATTR_GET)

DEFINE_INIT(mpi_init_f08_)
DEFINE_INIT_THREAD(mpi_init_thread_f08_)
DEFINE_FINALIZE(mpi_finalize_f08_)
DEFINE_WTIME(mpi_wtime_f08_)
DEFINE_WTICK(mpi_wtick_f08_)
DEFINE_COMM_GET_ATTR(mpi_comm_get_attr_f08_)
