module example.com/shop

go 1.22

toolchain go1.22.1

require (
	github.com/google/uuid v1.6.0
	golang.org/x/sync v0.7.0 // indirect
	gopkg.in/yaml.v3 v3.0.1
)

require github.com/spf13/cobra v1.8.0

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/stretchr/testify v1.9.0
)

replace example.com/old => ../old

exclude github.com/bad/module v1.0.0

tool golang.org/x/tools/cmd/stringer

require go.uber.org/zap v1.27.0
