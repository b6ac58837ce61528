#!/bin/sh
# Whether the folders in which these files look for their libraries are absolute: library_paths.sh READELF FILE...
# The loader takes an empty or relative one from the current folder.
set -eu
readelf=$1
shift
wrong=0
for file; do
  # A file that cannot be read is an error.
  dynamic=$("$readelf" -W -d "$file")
  folders=$(printf '%s\n' "$dynamic" | sed -n 's/.*(R[A-Z]*PATH).*\[\(.*\)\]$/\1/p')
  [ -n "$folders" ] || continue
  case ":$folders:" in
    *::* | *:[!/$]*)
      echo "$file: looks for libraries in '$folders'"
      wrong=1
      ;;
  esac
done
exit "$wrong"
