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

@test 'says "no" to an old release' {
  run deploy old
}

  @test "indented" { true; }

# @test "is commented out" {
@test $computed {
  true
}
