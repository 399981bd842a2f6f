package Apiary::Hive;

use strict;
use warnings;
use utf8;
use 5.020;

use parent -norequire, 'Apiary::Thing';
use Carp qw(croak carp);
use List::Util qw/sum0 max/;
use Scalar::Util ();
use Apiary::Frame;
use Apiary::Weather 'forecast';
require "config/places.pl";
require Apiary::Log;

our $VERSION = '0.12';
our @EXPORT_OK = qw(weigh describe);
our ($Debug, %Registry);

my %cache;

use constant MAX_FRAMES => 11;
use constant {
    QUEEN  => 'queen',
    DRONE  => 'drone',
    WORKER => 'worker',
};

# Makes a hive at a place.
#
# Dies without a place.
sub new {
    my ($class, %args) = @_;
    croak "a hive needs a 'place'" unless $args{place};
    my $self = bless {
        place  => $args{place},
        frames => [],
        queen  => undef,
    }, $class;
    $Registry{ $args{place} } = $self;
    return $self->_init(%args);
}

sub _init {
    my ($self, %args) = @_;
    $self->add_frame($_) for @{ $args{frames} || [] };
    return $self;
}

sub place { $_[0]{place} }

sub add_frame {
    my ($self, $frame) = @_;
    if (@{ $self->{frames} } >= MAX_FRAMES) {
        carp sprintf("hive %s is full", $self->place);
        return;
    }
    push @{ $self->{frames} }, $frame;
    delete $cache{ $self->place };
    return $frame;
}

# The weight of all frames, in grams.
sub weigh {
    my $self = shift;
    return $cache{ $self->place } //= sum0(map { $_->weight } @{ $self->{frames} });
}

sub describe {
    my ($self, $style) = @_;
    my $line = sub {
        my $frame = shift;
        return join ' ', $frame->number, $frame->weight;
    };
    sub shorten {
        my $text = shift;
        return substr $text, 0, 20;
    }
    my $text = <<"END";
Hive at @{[ $self->place ]}
END
    $text .= $line->($_) . "\n" for @{ $self->{frames} };
    return $style eq 'short' ? shorten($text) : $text;
}

sub Apiary::Frame::in_hive {
    my ($frame, $hive) = @_;
    return grep { $_ == $frame } @{ $hive->{frames} };
}

sub inspect :prototype($;$) {
    my ($self, $depth) = @_;
    my $found = 0;
    foreach my $frame (@{ $self->{frames} }) {
        next unless $frame->has_brood;
        $found++;
        last if $frame->content =~ m{queen|egg}x;
    }
    Apiary::Log::info("$found frames with brood # not a comment");
    return $found;
}

sub swarm($self, $weather = forecast()) {
    return if $weather->{rain} > 0.2;
    my $other = ref($self)->new(place => 'new place');
    $other->{queen} = $self->{queen};
    $self->{queen} = undef;
    return $other;
}

sub AUTOLOAD {
    our $AUTOLOAD;
    my ($name) = $AUTOLOAD =~ /::(\w+)$/;
    croak "no method $name";
}

BEGIN {
    *weight = \&weigh;
}

package Apiary::Hive::Iterator {
    sub new {
        my ($class, $hive) = @_;
        return bless { hive => $hive, at => 0 }, $class;
    }

    sub next_frame {
        my $self = shift;
        return $self->{hive}{frames}[ $self->{at}++ ];
    }
}

package Apiary::Keeper;

use Moo;
use Types::Standard qw(Str ArrayRef);

extends 'Apiary::Person';
with 'Apiary::Role::Stung';

# Who is called.
has name => (is => 'ro', isa => Str, required => 1);

has hives => (
    is      => 'rw',
    isa     => ArrayRef,
    default => sub { [] },
);

has '+age' => (default => 30);

around name => sub {
    my ($orig, $self) = @_;
    return ucfirst $self->$orig;
};

sub heaviest {
    my $self = shift;
    my ($first) = sort { $b->weigh <=> $a->weigh } @{ $self->hives };
    return $first;
}

sub visit_all {
    my ($self, $what) = @_;
    my %seen;
    for my $hive (@{ $self->hives }) {
        next if $seen{ $hive->place }++;
        $hive->inspect(2);
    }
    return scalar keys %seen;
}

package Apiary::Main;

sub run {
    my @arguments = @_;
    my $hive   = Apiary::Hive->new(place => $arguments[0] // 'garden');
    my $keeper = Apiary::Keeper->new(name => 'ada', hives => [$hive]);
    print $hive->describe('short'), "\n";
    print q{it's run()}, qq{ $keeper }, "\n";
    return Apiary::Hive::Iterator->new($hive)->next_frame;
}

run(@ARGV) unless caller;

subtest 'a hive has a place' => sub {
    my $hive = Apiary::Hive->new(place => 'roof');
    is $hive->place, 'roof';
};

1;

__END__

=head1 NAME

Apiary::Hive - sub not_code { } in the documentation

=cut
