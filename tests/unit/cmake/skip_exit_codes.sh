#!/bin/sh
# skip_exit_codes.sh PROGRAM: a test program exits with 77 if only skips ran, and never if something failed.
set -eu
program=$1

ends_with() {
  expected=$1
  shift
  status=0
  "$program" "$@" >/dev/null 2>&1 || status=$?
  [ "$status" -eq "$expected" ] || {
    echo "$*: exit code $status, not $expected"
    exit 1
  }
}
ends_with 77 'first that cannot run'
ends_with 77 '*that cannot run'
ends_with 0 passes
ends_with 0 'passes,*that cannot run'
ends_with 1 fails
ends_with 1 'cannot run and fails'
ends_with 1 'fails,*that cannot run'
ends_with 2 'fails,cannot run and fails,passes,*that cannot run'
ends_with 1 'fails 77 times'
