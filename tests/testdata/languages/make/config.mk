prefix = /opt
BIN_DIR := $(prefix)/bin
ifdef V
Q =
else
Q = @
endif
