module "example.org/tides/cmd"

go 1.16

require (
	example.org/tides/v2 v2.0.0-00010101000000-000000000000
	github.com/spf13/pflag v1.0.5

	/* no comment of this kind exists, and this line is none either */
	golang.org/x/term v0.25.0
)

replace example.org/tides/v2 => ./..
replace (
	golang.org/x/term v0.25.0 => golang.org/x/term v0.24.0
)
// The end of the file.
require ( // direct
	github.com/rivermap/legend v0.0.2
)
exclude ( github.com/rivermap/legend v0.0.1 )

retract [v0.1.0, v0.1.9] // wrong datum

require (
	example.org/hydro/pump v1.2.3-beta.1
	example.org/hydro/weir v0.0.0-20240102030405-0123456789ab // indirect; by pump
)

tool example.org/hydro/pump/cmd/pumpgen
