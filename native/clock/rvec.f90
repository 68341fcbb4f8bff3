! RVEC for Fortran: a strictly increasing clock without a system call (aferir/rvec.h).
!
!     use aferir_rvec
!     type(rvec_clock) :: clock
!     type(c_ptr) :: rvec
!     if (rvec_open(rvec, c_null_ptr) /= rvec_ok) stop 1
!     status = rvec_attach_thread(rvec, clock)
!     start = rvec_now(clock)
module aferir_rvec
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: rvec_clock, rvec_ok, rvec_open, rvec_close, rvec_attach_thread, rvec_attach_process
  public :: rvec_now, rvec_check, rvec_clock_size, rvec_seconds, c_ptr, c_null_ptr, c_int64_t

  integer(c_int), parameter :: rvec_ok = 0

  ! Room for the C structure; its fields are the library's own. rvec_clock_size() tells how much
  ! of it is used.
  type, bind(c) :: rvec_clock
    integer(c_int64_t) :: opaque(16) = 0
  end type rvec_clock

  interface
    integer(c_int) function rvec_open(rvec, options) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), intent(out) :: rvec
      type(c_ptr), value :: options
    end function rvec_open

    subroutine rvec_close(rvec) bind(c)
      import :: c_ptr
      type(c_ptr), value :: rvec
    end subroutine rvec_close

    integer(c_int) function rvec_attach_thread(rvec, clock) bind(c)
      import :: c_int, c_ptr, rvec_clock
      type(c_ptr), value :: rvec
      type(rvec_clock), intent(out) :: clock
    end function rvec_attach_thread

    integer(c_int) function rvec_attach_process(rvec, clock) bind(c)
      import :: c_int, c_ptr, rvec_clock
      type(c_ptr), value :: rvec
      type(rvec_clock), intent(out) :: clock
    end function rvec_attach_process

    ! Nanoseconds, strictly increasing.
    integer(c_int64_t) function rvec_now(clock) bind(c)
      import :: c_int64_t, rvec_clock
      type(rvec_clock), intent(inout) :: clock
    end function rvec_now

    integer(c_int) function rvec_check(rvec, verdict) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: rvec
      type(c_ptr), value :: verdict
    end function rvec_check

    integer(c_size_t) function rvec_clock_size() bind(c)
      import :: c_size_t
    end function rvec_clock_size
  end interface

contains

  ! Seconds; two readings close together may be equal where the value has grown beyond 2**53 ns.
  real(c_double) function rvec_seconds(clock)
    type(rvec_clock), intent(inout) :: clock
    rvec_seconds = real(rvec_now(clock), c_double) * 1.0e-9_c_double
  end function rvec_seconds
end module aferir_rvec
