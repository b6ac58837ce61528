#!/bin/sh
# bin/NAME of a pack: starts the program NAME with its libraries, or lists the libraries that are missing.
set -u
here=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
# shellcheck source-path=SCRIPTDIR source=libraries.sh
. "$here/libraries.sh"
name=$(basename -- "$0")
missing=$(missing_libraries "$here/programs/$name")
for library in $missing; do
  echo "error: $name needs $library, which is not found here" >&2
  echo "hint: it comes with $(comes_from "$library")" >&2
done
[ -z "$missing" ] || exit 2
LD_LIBRARY_PATH=$libraries
export LD_LIBRARY_PATH
exec "$here/programs/$name" "$@"
