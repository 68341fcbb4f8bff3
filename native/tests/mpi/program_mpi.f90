! `use mpi`.
program wtime
    use mpi
    implicit none
    integer :: ierr, rank, provided
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    double precision :: earlier, start, finish
    earlier = MPI_Wtime()
    provided = 0
    call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierr)
    start = MPI_Wtime()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    value = 0
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, value, flag, ierr)
    if (.not. flag .or. value /= 1) stop 2
    if (.not. start > earlier) stop 4
    if (MPI_Wtick() <= 0 .or. MPI_Wtick() > 1d-8) stop 5
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_Finalize(ierr)
    finish = MPI_Wtime()
    if (.not. finish > start) stop 6
    if (rank == 0) print '(a,es24.16)', 'time', start
end program
