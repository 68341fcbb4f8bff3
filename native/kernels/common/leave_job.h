/* Ends a rank of MPICH without MPI_Finalize, in agreement with its launcher. */
#ifndef AFERIR_COMMON_LEAVE_JOB_H
#define AFERIR_COMMON_LEAVE_JOB_H

#ifdef __cplusplus
extern "C" {
#endif

/* Waits until all ranks have come here, and exits with `code`; to be called by all ranks after
 * their last MPI call. Returns without the environment variable PMI_FD, by which launchers that
 * speak PMI-1 (Hydra, Slurm's pmi2) name their descriptor. Where no answer comes within 10 s, it
 * exits nevertheless; the launcher may call that a failure. */
void leave_job(int code);

#ifdef __cplusplus
}
#endif

#endif
