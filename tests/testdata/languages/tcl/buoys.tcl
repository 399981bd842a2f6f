#!/usr/bin/env tclsh
# Watches buoys and rings when one drifts.

package require Tcl 8.6
package require -exact http 2.9
source lib/geo.tcl
source [file join [file dirname [info script]] config.tcl]

set interval 60
set ::verbose 0

namespace eval ::buoys {
    variable known [dict create]
    variable limit 25.0
    namespace export add check

    # Adds a buoy at its anchor.
    proc add {name lat lon} {
        variable known
        dict set known $name [list $lat $lon]
        return $name
    }

    proc distance {a b} {
        lassign $a lat1 lon1
        lassign $b lat2 lon2
        return [expr {hypot($lat1 - $lat2, $lon1 - $lon2)}]
    }

    namespace eval report {
        proc line {name metres} {
            format "%-10s %6.1f m" $name $metres
        }
    }
}

# Whether a buoy has drifted.
proc buoys::check {name position {tolerance 1.0}} {
    variable known
    variable limit
    set anchor [dict get $known $name]
    set metres [distance $anchor $position]
    if {$metres > $limit * $tolerance} {
        puts [report::line $name $metres]
        return 1
    }
    return 0
}

oo::class create Bell {
    variable rings

    constructor {} {
        set rings 0
    }

    method ring {times} {
        incr rings $times
        puts "ding; proc not_code {} {}"
    }

    method count {} {
        return $rings
    }
}

oo::class create Siren {
    superclass Bell
    method ring {times} {
        next [expr {2 * $times}]
    }
}

proc parse {line} {
    if {![regexp {^(\w+);([-\d.]+);([-\d.]+)$} $line -> name lat lon]} {
        error "bad line: $line"
    }
    return [list $name [list $lat $lon]]
}

proc watch {channel bell args} {
    while {[gets $channel line] >= 0} {
        lassign [parse $line] name position
        if {[buoys::check $name $position]} {
            $bell ring 1
        }
    }
}

if {$tcl_platform(platform) eq "unix"} {
    proc beep {} { puts -nonewline \a }
}

proc main {argv} {
    set bell [Siren new]
    buoys::add north 54.1 7.9
    set channel [open [lindex $argv 0]]
    watch $channel $bell
    close $channel
    puts "[$bell count] rings"
}

main $argv
