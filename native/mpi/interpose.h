/* What the C and the Fortran entry points share. */
#ifndef AFERIR_MPI_INTERPOSE_H
#define AFERIR_MPI_INTERPOSE_H

/* Around MPI_Init, whoever calls it. `status` is what MPI_Init has returned. Fortran's MPI_Init may
 * call C's: only the outermost pair does anything. */
void interpose_before_init(void);
void interpose_after_init(int status);
/* Before MPI_Finalize. */
void interpose_before_finalize(void);

double interpose_wtime(void);
double interpose_wtick(void);

/* Is MPI_Wtime global? */
int interpose_is_global(void);

#endif
