# Sourced by the scripts: what kolam needs from Debian's packages, and how a preset is built.
# Nothing is installed that is already there, and nothing asks a question.

kolam_packages=(
  cmake ninja-build g++ git
  libtrilinos-kokkos-dev libtrilinos-kokkos-kernels-dev libopenblas-dev libdnnl-dev
  libhwloc-dev zlib1g-dev libssl-dev libcurl4-openssl-dev
  libcli11-dev nlohmann-json3-dev libfmt-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  dataset-fashion-mnist
)
# For the tests of what is built only where it is found.
kolam_test_packages=(libopenmpi-dev openmpi-bin)

# fail MESSAGE: one line to stderr, and the end.
fail() {
  printf '%s: %s\n' "$(basename "$0")" "$1" >&2
  exit 1
}

# as_root COMMAND...: as it is for root, through sudo otherwise.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# A tool from another source (a newer cmake, say) serves as well as Debian's package of it.
is_present() {
  case $1 in
    cmake | git) command -v "$1" >/dev/null ;;
    ninja-build) command -v ninja >/dev/null ;;
    g++) command -v g++ >/dev/null ;;
    *) [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ;;
  esac
}

# install_packages PACKAGE...: what is missing of them.
install_packages() {
  local package log
  missing=()
  command -v dpkg-query >/dev/null || fail "this is not a Debian system: install what README.md lists, then use cmake --preset release"
  for package in "$@"; do
    is_present "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
    fail "installing packages needs root: run as root, or install sudo; by hand: apt-get install ${missing[*]}"
  printf 'Installing %d packages: %s\n' ${#missing[@]} "${missing[*]}"
  log=$(mktemp)
  if ! { as_root apt-get update -qq &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } \
    </dev/null >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    fail "apt-get could not install ${missing[*]} (its last lines are above)"
  fi
  rm -f "$log"
}

# build_preset PRESET TARGET...: configures and builds; only what goes wrong is printed.
build_preset() {
  local preset=$1 log="build/$1.log" launcher=()
  shift
  mkdir -p build
  if command -v ccache >/dev/null; then
    # Precompiled headers carry times; ccache must be told that they do not matter.
    export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  printf 'Building preset %s (log: %s) ...\n' "$preset" "$log"
  if ! { cmake --preset "$preset" "${launcher[@]}" "${kolam_cmake_options[@]}" &&
    cmake --build --preset "$preset" --target "$@"; } </dev/null >"$log" 2>&1; then
    grep -E 'error|Error|FAILED' "$log" | head -n 20 >&2 || true
    fail "the build failed; the whole output is in $log"
  fi
}
kolam_cmake_options=()
