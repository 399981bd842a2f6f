#!/bin/sh
# \
exec tclsh "$0" ${1+"$@"}

# Harbours: berths, pilots and messages between them.
# proc commented_out {} {}

package require Tcl 8.6-
package require snit
package provide harbour 1.2
source -encoding utf-8 lib/ships.tcl
source "lib/berths.tcl"
source [file join $dir lib pilots.tcl]
lappend auto_path [file dirname [info script]]
load ./libharbour.so

global debug_level
set debug_level 0
set ships(ann) {length 12}
set ::harbour::opened 1
array set colours {red 1 green 2}
variable top_level "proc not_code {} {}"
dict set config name harbour
lassign {1 2} first second
set script {
    proc in_a_braced_string {} {}
}

namespace eval harbour {
    namespace export *
    namespace ensemble create
    namespace import ::tcl::mathop::*
    variable berths {}
    variable count 0 limit 10
    variable names
    array set names {}

    proc Open {args} { return 1 }; proc Close {} { return 0 }

    namespace eval pilots::night {
        variable on_duty 0
        proc call {name} {
            variable on_duty
            incr on_duty
        }
    }
}

namespace eval ::harbour::log {
    proc write {level args} {
        puts stderr "$level: [join $args]"
    }
}

namespace ensemble create -command ::harbour::tool -map {open ::harbour::Open}

# Moors a ship.
# It may wait.
proc ::harbour::moor {
    ship
    {berth 0}
    args
} {
    upvar 1 $ship data
    global debug_level
    proc inner_helper {x} {
        return [expr {$x * 2}]
    }
    foreach arg $args {
        switch -exact -- $arg {
            -night { set night 1 }
            default {
                error "proc bad {} {}"
            }
        }
    }
    try {
        set result [inner_helper $berth]
    } on error {message options} {
        return -code error $message
    } finally {
        set done 1
    }
    return $result
}

proc "quoted name" {} {}
proc harbour::with-dash? {a b} {return $a}
proc one {} {return 1}
proc noargs {} "return 2"
proc \
    continued {a
b} {
    return $a
}

interp alias {} moor_alias {} ::harbour::moor
rename puts original_puts
coroutine next_ship apply {{} { yield }}

if {[info commands lmap] eq ""} {
    proc lmap {args} {
        return {}
    }
} elseif {$debug_level} {
    proc debugged {} {}
} else {
    proc quiet {} {}
}

foreach colour {red green} {
    proc paint_$colour {} [list return $colour]
}

catch {
    proc in_catch {} {}
}

oo::class create harbour::Ship {
    superclass oo::object
    mixin harbour::Named
    variable name cargo
    variable tonnage

    constructor {n {t 1}} {
        my variable extra
        set name $n
        set tonnage $t
    }

    destructor { puts bye }

    method name {} { return $name }
    method load {what args} {
        lappend cargo $what
        my Check
    }
    method Check {} {
        return [llength $cargo]
    }
    private method secret {} {}
    export load
    unexport Check
    forward say puts
    self method make {args} { return [my new {*}$args] }
    classmethod count {} { return 3 }
    filter log_calls
}

oo::class create Tug { superclass harbour::Ship
    method pull {ship} {} }

oo::define harbour::Ship {
    method late {} { return 1 }
    method later {} {}
}
oo::define harbour::Ship method latest {a} { return $a }
oo::objdefine $ship method only_here {} {}

snit::type Buoy {
    option -colour red
    option -size -default 3
    typevariable made 0
    variable lit 0
    component lamp

    constructor {args} {
        $self configurelist $args
    }

    method light {} {
        set lit 1
    }
    typemethod known {} { return $made }
    proc private_proc {} {}
    delegate method * to lamp
}

snit::widget HarbourView {
    hulltype frame
    method draw {} {}
}

itcl::class Crane {
    inherit Machine
    public variable height 10
    protected common made 0
    constructor {args} { eval configure $args }
    public method lift {load} {}
    private proc helper {} { return 1 }
}
itcl::body Crane::lift {load} {
    return $load
}

tcltest::test moor-1.1 {moors a ship} -body {
    harbour::moor ann
} -result 0
test moor-1.2 "a ship; proc not_here {} {}" {
    expr {1 + 1}
} 2

bind . <Key-q> { exit }
button .quit -text "proc x {}" -command { harbour::Close }
