! mpif.h, fixed form: MPI_Wtime is an external function.
      program wtime
      implicit none
      include 'mpif.h'
      integer ierr, rank, other
      integer (kind=MPI_ADDRESS_KIND) value
      logical flag
      double precision earlier, start, finish
      earlier = MPI_Wtime()
      call MPI_Init(ierr)
      start = MPI_Wtime()
      call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
      value = 0
      call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL,
     &                       value, flag, ierr)
      if (.not. flag .or. value .ne. 1) stop 2
      other = 0
      call MPI_Attr_get(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL,
     &                  other, flag, ierr)
      if (.not. flag .or. other .ne. 1) stop 3
      if (.not. start .gt. earlier) stop 4
      if (MPI_Wtick() .le. 0 .or. MPI_Wtick() .gt. 1d-8) stop 5
      call MPI_Barrier(MPI_COMM_WORLD, ierr)
      call MPI_Finalize(ierr)
      finish = MPI_Wtime()
      if (.not. finish .gt. start) stop 6
      if (rank .eq. 0) print '(a,es24.16)', 'time', start
      end program
