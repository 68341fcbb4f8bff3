program rvec_fortran_test
  use aferir_rvec
  implicit none
  type(rvec_clock) :: clock
  type(c_ptr) :: rvec
  integer(c_int64_t) :: last, now
  integer :: i

  if (rvec_clock_size() > 16 * 8) stop 1
  if (rvec_open(rvec, c_null_ptr) /= rvec_ok) stop 2
  if (rvec_attach_thread(rvec, clock) /= rvec_ok) stop 3
  last = 0
  do i = 1, 100000
    now = rvec_now(clock)
    if (now <= last) stop 4
    last = now
  end do
  if (rvec_check(rvec, c_null_ptr) /= rvec_ok) stop 5
  if (rvec_seconds(clock) < real(last) * 1.0e-9 * 0.999) stop 6
  call rvec_close(rvec)
  print *, "ok strict through Fortran"
end program rvec_fortran_test
