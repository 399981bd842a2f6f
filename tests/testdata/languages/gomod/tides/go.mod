// Deprecated: use example.org/tides/v3 instead.
module example.org/tides/v2 // the second version

go 1.23

toolchain go1.23.4

godebug (
	default=go1.22
	panicnil=1
)

// Direct requirements.
require (
	cloud.google.com/go/storage v1.43.0
	dario.cat/mergo v1.0.1
	github.com/BurntSushi/toml v1.4.0
	github.com/Masterminds/semver/v3 v3.3.0
	github.com/alecthomas/kong v1.6.0 // keep below v2
	github.com/coreos/go-systemd/v22 v22.5.0
	github.com/go-chi/chi/v5 v5.1.0
	github.com/jackc/pgx/v5 v5.7.1
	github.com/klauspost/compress v1.17.11
	github.com/prometheus/client_golang v1.20.5
	github.com/rivermap/tiles v0.3.1
	example.org/tides/clock v1.4.0
	example.org/tides/units v0.0.0-00010101000000-000000000000
	go.opentelemetry.io/otel v1.31.0
	golang.org/x/exp v0.0.0-20241009180824-f66d83c29e7c
	golang.org/x/text v0.19.0
	google.golang.org/grpc v1.67.1
	gopkg.in/ini.v1 v1.67.0
	k8s.io/apimachinery v0.31.2
	modernc.org/sqlite v1.33.1
	github.com/legacy/driver v2.3.0+incompatible
)

require (
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/davecgh/go-spew v1.1.2-0.20180830191138-d8f796af33cc // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/go-logr/logr v1.4.2 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/golang/groupcache v0.0.0-20210331224755-41bb18bfe9da // indirect
	github.com/google/s2a-go v0.1.8 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.2 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/ncruces/go-strftime v0.1.9 // indirect
	github.com/prometheus/client_model v0.6.1 // indirect
	github.com/prometheus/common v0.60.1 // indirect
	github.com/prometheus/procfs v0.15.1 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	golang.org/x/crypto v0.28.0 // indirect
	golang.org/x/net v0.30.0 // indirect
	golang.org/x/oauth2 v0.23.0 // indirect
	golang.org/x/sync v0.8.0 // indirect
	golang.org/x/sys v0.26.0 // indirect
	golang.org/x/time v0.7.0 // indirect
	google.golang.org/protobuf v1.35.1 // indirect
	modernc.org/libc v1.61.0 // indirect
	modernc.org/mathutil v1.6.0 // indirect
	modernc.org/memory v1.8.0 // indirect
)

require "github.com/quoted/path" v1.0.0

require	github.com/tabbed/blank   v0.1.0	// tabs and blanks

// require github.com/not/required v9.9.9

require nodots v1.0.0

tool golang.org/x/tools/cmd/goimports

tool (
	github.com/rivermap/tiles/cmd/tile
	// github.com/not/atool
	google.golang.org/protobuf/cmd/protoc-gen-go
	example.org/tides/v2/internal/gen
	./internal/localtool
)

replace example.org/tides/clock => ../shared/clock

replace example.org/tides/clock v1.3.9 => ../shared/oldclock

replace (
	example.org/tides/units => ../units
	github.com/rivermap/tiles v0.3.1 => github.com/rivermap/tiles-fork v0.3.2
)

exclude github.com/prometheus/common v0.59.0

exclude (
	golang.org/x/net v0.29.0
	google.golang.org/grpc v1.67.0 // leaks
)

retract v2.0.1 // published by mistake

retract (
	v2.1.0 // deletes files
	[v2.2.0, v2.2.4]
)

ignore ./node_modules

ignore (
	static
	content/html
)
