/* Common part of the C and the Fortran entry points. */
#ifndef AFERIR_MPI_INTERPOSE_H
#define AFERIR_MPI_INTERPOSE_H

/* Called before and after MPI_Init, in either language. `status` is the result of MPI_Init.
 * Fortran's MPI_Init may call C's: only the outermost pair has an effect. */
void interpose_before_init(void);
void interpose_after_init(int status);
/* Called before MPI_Finalize. */
void interpose_before_finalize(void);

double interpose_wtime(void);
double interpose_wtick(void);

/* Whether MPI_Wtime is global. */
int interpose_is_global(void);

#endif
