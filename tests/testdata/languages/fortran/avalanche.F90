#include "config.h"
#define SQUARE(x) ((x)*(x))
!> Simulates avalanches on a slope.
!! subroutine fake() is none.
MODULE avalanche_types
  use, intrinsic :: iso_fortran_env, only: real64, int32, output_unit
  USE iso_c_binding
  use snow_pack, only : density => rho, layer_t, &
                        operator(+), assignment(=)
  implicit none
  private

  integer, parameter, public :: wp = real64
  real(wp), parameter :: gravity = 9.81_wp, &
                         pi = acos(-1.0_wp)
  character(len=*), parameter :: banner = "module not_a_module; end module"
  logical, save, protected :: is_ready = .false.
  integer :: counter = 0, unit_number
  real(wp), allocatable, dimension(:,:), target :: field

  enum, bind(c)
    enumerator :: dry = 0, wet
    enumerator :: slush = 10
  end enum

  type, public :: point
    real(wp) :: x = 0.0_wp, y = 0.0_wp
  end type point

  !> A slope with its snow.
  type, abstract, extends(point), public :: slope
    private
    integer :: id
    real(wp), allocatable :: heights(:)
    type(point), pointer :: neighbours(:) => null()
    procedure(friction_law), pointer, nopass :: law => null()
    class(*), allocatable :: extra
  contains
    private
    procedure(step_interface), deferred, public :: step
    procedure, public :: length => slope_length
    procedure, pass(self), non_overridable :: reset, clear
    generic, public :: operator(+) => add_slope
    generic :: write(formatted) => print_slope
    final :: destroy_slope
  end type slope

  type, bind(C) :: raw_cell
    integer(c_int) :: kind
  end type

  type :: container(k, n)
    integer, kind :: k = wp
    integer, len :: n
    real(k) :: values(n)
  end type container

  abstract interface
    subroutine step_interface(self, dt)
      import :: slope, wp
      class(slope), intent(inout) :: self
      real(wp), intent(in) :: dt
    end subroutine step_interface

    pure real(wp) function friction_law(speed) result(mu)
      import wp
      real(wp), intent(in) :: speed
    end function
  end interface

  interface
    integer(c_int) function c_usleep(us) bind(c, name="usleep")
      import c_int
      integer(c_int), value :: us
    end function c_usleep

    module subroutine simulate(s, steps)
      class(slope), intent(inout) :: s
      integer, intent(in) :: steps
    end subroutine
  end interface

  interface energy
    module procedure kinetic, potential
  end interface energy

  interface operator(.cross.)
    procedure :: cross_product
  end interface

  public :: energy, simulate

contains

  elemental function kinetic(mass, speed) result(e)
    real(wp), intent(in) :: mass, speed
    real(wp) :: e
    e = 0.5_wp * mass * SQUARE(speed)
  end function kinetic

  PURE REAL(wp) FUNCTION potential(mass, height, g)
    REAL(wp), INTENT(IN) :: mass
    REAL(wp), INTENT(IN) :: height
    REAL(wp), INTENT(IN), OPTIONAL :: g
    potential = mass * gravity * height
    IF (PRESENT(g)) potential = mass * g * height
  END FUNCTION potential

  function cross_product(a, b)
    type(point), intent(in) :: a, b
    real(wp) cross_product
    cross_product = a%x * b%y - a%y * b%x
  end

  recursive subroutine flow(s, depth, &
                            callback)   ! subroutine hidden()
    class(slope), intent(inout) :: s
    integer, intent(in) :: depth
    interface
      subroutine callback(level)
        integer, intent(in) :: level
      end subroutine callback
    end interface
    integer :: i
    real(wp), dimension(:), allocatable :: buffer

    if (depth <= 0) return
    outer: do i = 1, size(s%heights)
      associate (h => s%heights(i))
        select case (nint(h))
        case (:0)
          cycle outer
        case default
          call callback(depth)
        end select
      end associate
    end do outer
    block
      integer :: local_only
      local_only = 1
    end block
    call inner(depth - 1)
  contains
    subroutine inner(d)
      integer, intent(in) :: d
      call flow(s, d, callback)
    end subroutine inner
  end subroutine flow

  real(wp) function slope_length(self)
    class(slope), intent(in) :: self
    slope_length = real(size(self%heights), wp)
  end function slope_length

  subroutine destroy_slope(self)
    type(slope), intent(inout) :: self
    if (allocated(self%heights)) deallocate (self%heights)
    print '(a)', 'end subroutine "fake"'; print *, 'function'
  end subroutine

  subroutine export_cell(cell) bind(C, name='export_cell')
    type(raw_cell), intent(out) :: cell
    cell%kind = dry
  end subroutine export_cell

#ifdef USE_MPI
  subroutine exchange(comm)
    integer, intent(in) :: comm
!$omp parallel do private(i) reduction(+:total)
    continue
  end subroutine exchange
#else
  subroutine exchange()
  end subroutine exchange
#endif

END MODULE avalanche_types

submodule (avalanche_types) avalanche_run
  implicit none
  integer :: runs = 0
contains
  module procedure simulate
    integer :: n
    do concurrent (n = 1:steps)
      call s%step(0.1_wp)
    end do
    runs = runs + 1
  end procedure simulate

  module function helper(x) result(y)
    real(wp), intent(in) :: x
    real(wp) :: y
    y = x
  end function helper
end submodule avalanche_run

block data constants
  common /shared/ alpha, beta
  data alpha, beta /1.0, 2.0/
end block data constants

program run_avalanche
  use avalanche_types, wp2 => wp
  use mpi_f08
  implicit none
  include 'limits.inc'
  type, extends(slope) :: gully
  contains
    procedure :: step => gully_step
  end type
  integer :: io, function_count
  namelist /settings/ io

  open (newunit=io, file='run.nml', err=100)
  read (io, nml=settings)
  write (*, *) "program fake"
100 continue
contains
  subroutine gully_step(self, dt)
    class(gully), intent(inout) :: self
    real(wp2), intent(in) :: dt
  end subroutine gully_step
end program run_avalanche

integer function external_function(n)
  integer, intent(in) :: n
  external_function = n
end function external_function
