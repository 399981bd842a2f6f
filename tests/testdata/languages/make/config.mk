prefix = /opt
BIN_DIR := $(prefix)/bin
ifdef V
Q =
else
Q = @
endif

# Where the probes are.
PROBES ?= $(shell ls probes)
