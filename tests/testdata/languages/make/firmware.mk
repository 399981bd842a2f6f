# Builds the firmware of the weather balloons.
# target: this is a comment
SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS   += --warn-undefined-variables --no-builtin-rules
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDEXPANSION:

V ?= 0
Q  = $(if $(filter 1,$(V)),,@)
BOARDS     ::= sonde groundstation
CROSS      :::= arm-none-eabi-
GIT_REV    != git rev-parse --short HEAD
empty      :=
space      := $(empty) $(empty)
export TZ   = UTC
export PATH := $(CURDIR)/tools:$(PATH)
unexport LD_PRELOAD
override CFLAGS += -DREV=\"$(GIT_REV)\" \
	-ffunction-sections \
	-Wl,--defsym=heap_size=4096

SRC := $(wildcard src/*.c) \
       $(wildcard drivers/*.c)
OBJ := $(SRC:%.c=build/%.o)
DEP = $(OBJ:.o=.d)

include config.mk tools/flash.mk
-include $(DEP)
sinclude local.mk

ifeq ($(origin CC),default)
  CC := $(CROSS)gcc
else ifneq (,$(findstring clang,$(CC)))
  LTO = thin
endif

ifdef DEBUG
CFLAGS-debug = -Og -g3
endif

# Prints a line in colour: $(call say,colour,text)
say = printf '\033[%sm%s\033[0m\n' '$(1)' '$(2)'

# Rules of one board.
# $(1): its name
define BOARD_template =
build/$(1).elf: $$(OBJ) boards/$(1).ld | build
	$(Q)$$(CC) -T boards/$(1).ld $$(OBJ) -o $$@
$(1)_SIZE := 42
flash-$(1): build/$(1).elf ; openocd -f boards/$(1).cfg
.PHONY: flash-$(1)
endef

define HELP_TEXT
Targets:
  all: builds it
  clean: removes it
endef
export HELP_TEXT

$(foreach board,$(BOARDS),$(eval $(call BOARD_template,$(board))))

.PHONY: all clean help check \
	size

all: $(BOARDS:%=build/%.elf) ## builds all boards

help: ## shows this text
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) \
		| sed 's/:.*## /: /'

# Object files, with their dependencies.
build/%.o: %.c $$(@D)/.keep Makefile
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -MMD -MP -c $< -o $@

%/.keep: ; @mkdir -p $* && touch $@

build/%.bin build/%.map &: build/%.elf
	$(CROSS)objcopy -O binary $< $(@:.map=.bin)

build docs/html:
	mkdir -p $@

check: private CFLAGS += -DTESTING
check: CC = gcc
check:: unit
check:: hil

unit hil: %: tests/%.py
	python3 $< --url "http://localhost:8080/x: y" \
	  --flag=value

clean:
ifeq ($(V),1)
	ls build
endif
	rm -rf build
	# clean2: not a target

size: $(addprefix build/,$(addsuffix .elf,$(BOARDS)))
	@for f in $^; do \
	  echo "$$f: $$(stat -c %s $$f)"; \
	done

lib.a(%.o): %.o
	ar rc $@ $<

print-%:
	@echo '$* = $($*)'

FORCE:

$(warning slow: this checks every probe)
$(BUILD_DIR)/probes.csv $(addsuffix .ok,$(BOARDS)): $(PROBES)
	cat $^ > $@
