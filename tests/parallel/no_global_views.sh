#!/usr/bin/env bash
# Usage: no_global_views.sh NM LIBRARY... : fails if a library holds a View in static storage, which
# would be destroyed after Kokkos was finalized.
set -euo pipefail
nm=$1
shift
for library in "$@"; do
  symbols=$("$nm" -C "$library")
  [ -n "$symbols" ] || { echo "no symbols in $library"; exit 1; }
  if grep -E '^[0-9a-f]+ [bBdD] .*(Kokkos::View|kolam::Arena|BasicArray)' <<<"$symbols"; then
    echo "$library holds these in static storage"
    exit 1
  fi
  # A View in a function-local static needs a guard and an atexit entry for ~View.
  if grep -E 'guard variable for .*Kokkos::View' <<<"$symbols"; then
    echo "$library holds these in static storage"
    exit 1
  fi
done
