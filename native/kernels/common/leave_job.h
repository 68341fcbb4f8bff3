/* Ends a rank of MPICH without MPI_Finalize, in agreement with MPICH's launcher, Hydra. */
#ifndef AFERIR_COMMON_LEAVE_JOB_H
#define AFERIR_COMMON_LEAVE_JOB_H

#ifdef __cplusplus
extern "C" {
#endif

/* Waits until all ranks have come here, and exits with `code`; to be called by all ranks after
 * their last MPI call. Returns if it was not Hydra that started this rank. */
void leave_job(int code);

#ifdef __cplusplus
}
#endif

#endif
