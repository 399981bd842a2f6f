#!/usr/bin/perl -w
package Railyard::Signal 1.03;
# Signals of a yard; sub fake { } in a comment is none.
use v5.36;
use experimental qw( class builtin );
use parent qw(Exporter Railyard::Device);
use POSIX ();
use List::Util 1.45 qw(first
                       any
                       reduce);
use Time::HiRes 'sleep', 'time';
use if $^O eq 'MSWin32', 'Win32::Console';
use lib '../lib';
no warnings 'redefine';
require Railyard::Track;
require './etc/yard.conf.pl';

our @ISA;
our %EXPORT_TAGS = ( aspects => [ qw(STOP CAUTION CLEAR) ] );
our $DEBUG //= $ENV{YARD_DEBUG};
my ($instances, %by_name) = (0);
local $| = 1;

use constant;
use constant DEBUG => 0;
use constant ASPECTS => qw(stop caution clear);
use constant { STOP => 0, CAUTION => 1,
               CLEAR => 2 };
use Readonly;
Readonly my $TIMEOUT => 30;
Readonly::Scalar our $LIMIT => 5;

sub new($class, %args) {
    my $self = bless { name => $args{name}, aspect => STOP, %args }, ref $class || $class;
    $by_name{$self->{name}} = $self;
    $instances++;
    return $self;
}

# Forward declarations.
sub later;
sub proto($$);

# Generated accessors.
for my $field (qw(name aspect lamp)) {
    no strict 'refs';
    *{"Railyard::Signal::$field"} = sub { my $self = shift; $self->{$field} = shift if @_; $self->{$field} };
}
*colour = \&aspect;
*alias::of = sub { 1 };

sub later {
    my $self = shift;
    my $callback = shift || sub { warn "nothing to do" };
    return sub {
        my @args = @_;
        $callback->(@args);
    };
}

sub proto($$) { $_[0] + $_[1] }

=pod

=head2 set

  sub not_a_sub {
      return 1;
  }

=cut

sub set :lvalue :method {
    $_[0]{aspect}
}

sub _log { print STDERR "@_\n" if DEBUG; }
sub __deep_secret { }

sub text {
    my $self = shift;
    my $heredoc = <<~"EOT" . <<'RAW';
        sub in_heredoc { $self->{name} }
        EOT
package Not::A::Package;
sub raw_not { }
RAW
    (my $copy = $heredoc) =~ s{sub \s+ (\w+)}{function $1}gx;
    my $re = qr/^sub\s+{/m;
    return $copy if $copy =~ m#^package# and $copy !~ /}/;
    return q{sub quoted { } package Nope; };
}

sub DESTROY { delete $by_name{ $_[0]{name} } }

use overload
    '""'  => \&text,
    '<=>' => sub { $_[0]->{aspect} <=> $_[1]->{aspect} },
    'bool' => sub { 1 };

{
    package Railyard::Signal::Dwarf;
    our @ISA = ('Railyard::Signal');
    my $height = 40;

    sub height { $height }
    sub new {
        my $class = shift;
        my $self = $class->SUPER::new(@_, dwarf => 1);
        return $self;
    }
}

package Railyard::Role::Lit {
    use Moose::Role;
    requires 'lamp';

    has 'watts' => ( is => 'ro', isa => 'Int', lazy => 1, builder => '_build_watts' );
    has [qw(volts amps)] => (is => 'rw');
    has "bulb", is => 'ro';

    sub _build_watts { 40 }
    before switch => sub { my $self = shift; };
}

class Railyard::Turnout 0.1 :isa(Railyard::Device) {
    field $position :param = 'straight';
    field @history;
    field %locks;
    my $count = 0;

    ADJUST {
        $count++;
    }

    method position { return $position }
    method throw_to ($where, $force = 0) {
        push @history, $position;
        $position = $where;
        return $self;
    }
    method $private_step { 1 }
    sub count { $count }
}

package main;

use Test::More;
use Dancer2;

get '/signals' => sub { to_json([ keys %by_name ]) };
post '/signals/:name' => sub {
    my $signal = Railyard::Signal->new(name => route_parameters->get('name'));
    return $signal->text;
};

subtest "a signal is red at first" => sub {
    plan tests => 1;
    is( Railyard::Signal->new( name => 'A1' )->aspect, STOP );
    subtest 'nested' => sub { ok 1; };
};

sub main::helper { return wantarray ? @_ : $_[0] }

sub parse_args (\@;$) {
    my ($argv, $strict) = @_;
    while (defined(my $arg = shift @$argv)) {
        if    ($arg eq '-v')      { $DEBUG = 1 }
        elsif ($arg =~ /^--(\w+)/) { $ENV{uc $1} = 1 }
        else { last }
    }
}

BEGIN { sub at_begin { 1 } }

sub
oddly_spaced
{
    my %dispatch = (
        stop  => sub { STOP },
        clear => \&later,
    );
    return $dispatch{ $_[0] }->();
}


done_testing();

__DATA__
sub in_data { }
package In::Data;
