!> Flow of a glacier along a line.
module glacier
  use, intrinsic :: iso_fortran_env, only: real64, int32
  use ice_constants
  implicit none
  private
  public :: flow_line, advance, thickness_at

  integer, parameter :: dp = real64
  real(dp), parameter :: density = 917.0_dp, gravity = 9.81_dp
  integer :: n_steps = 0

  !> What is known at each point.
  type, public :: point
    real(dp) :: bed
    real(dp) :: thickness = 0.0_dp
  end type point

  type, abstract :: climate
  contains
    procedure(balance_function), deferred :: balance
  end type climate

  type, extends(climate), public :: linear_climate
    real(dp) :: equilibrium
    real(dp) :: gradient
  contains
    procedure :: balance => linear_balance
    final :: forget
  end type linear_climate

  type, public :: flow_line
    type(point), allocatable :: points(:)
    class(climate), pointer :: weather => null()
  contains
    procedure, public :: length
    procedure, private :: add_one
    generic :: add => add_one
  end type flow_line

  abstract interface
    pure real(real64) function balance_function(self, height)
      import :: climate, real64
      class(climate), intent(in) :: self
      real(real64), intent(in) :: height
    end function balance_function
  end interface

  interface thickness_at
    module procedure thickness_at_index
    module procedure thickness_at_distance
  end interface thickness_at

  interface operator(+)
    procedure add_points
  end interface

contains

  !> Moves the ice by one step.
  subroutine advance(line, dt)
    class(flow_line), intent(inout) :: line
    real(dp), intent(in) :: dt
    integer :: i
    do i = 2, size(line%points) - 1
      line%points(i)%thickness = line%points(i)%thickness &
        + dt * (flux(i - 1) - flux(i))
    end do
    n_steps = n_steps + 1
  contains
    real(dp) function flux(at)
      integer, intent(in) :: at
      flux = density * gravity * line%points(at)%thickness ** 5
    end function flux
  end subroutine advance

  pure function length(self) result(n)
    class(flow_line), intent(in) :: self
    integer :: n
    n = count(self%points%thickness > 0.0_dp)   ! call not_a_use()
  end function length

  subroutine add_one(self, new)
    class(flow_line), intent(inout) :: self
    type(point), intent(in) :: new
    self%points = [self%points, new]
  end subroutine add_one

  pure real(dp) function linear_balance(self, height)
    class(linear_climate), intent(in) :: self
    real(dp), intent(in) :: height
    linear_balance = self%gradient * (height - self%equilibrium)
  end function linear_balance

  subroutine forget(self)
    type(linear_climate), intent(inout) :: self
    print *, 'forgotten; call nothing()'
  end subroutine forget

  elemental function add_points(a, b) result(c)
    type(point), intent(in) :: a, b
    type(point) :: c
    c = point(a%bed, a%thickness + b%thickness)
  end function add_points

  real(dp) function thickness_at_index(line, i)
    type(flow_line), intent(in) :: line
    integer, intent(in) :: i
    thickness_at_index = line%points(i)%thickness
  end function thickness_at_index

  real(dp) function thickness_at_distance(line, x)
    type(flow_line), intent(in) :: line
    real(dp), intent(in) :: x
    thickness_at_distance = thickness_at_index(line, int(x / 100.0_dp))
  end function thickness_at_distance

end module glacier

program run
  use glacier, only: flow_line, advance
  implicit none
  include 'settings.inc'
  type(flow_line) :: line
  integer :: year
  do year = 1, 100
    call advance(line, dt=1.0d0)
  end do
  write (*, *) line%length()
end program run
