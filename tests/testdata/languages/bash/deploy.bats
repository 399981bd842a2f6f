#!/usr/bin/env bats

load helpers/common
FIXTURES=fixtures

setup() {
  cd "$BATS_TEST_TMPDIR"
}

@test "deploys the newest release" {
  helper() { echo newest; }
  run helper
  answer=$output
  [ "$answer" = newest ]
}
