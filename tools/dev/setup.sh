# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Shared by tools/quickstart and tools/check (sourced by bash): timed messages
# on stderr, Debian packages, and builds with a progress line.

BUILD_PACKAGES=(clang-19 lld-19 liblld-19-dev llvm-19-dev libmlir-19-dev mlir-19-tools libzstd-dev zlib1g-dev
  nlohmann-json3-dev libcli11-dev)
TEST_PACKAGES=(llvm-19-tools libgtest-dev libclang-rt-19-dev clang-format-19 clang-tidy-19 binutils file gdb
  crossbuild-essential-arm64 qemu-user libdnnl-dev)

say() { printf '[%3ds] %s\n' $SECONDS "$*" >&2; }
die() {
  printf '%s: error: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Under sudo, give built files to the caller in the end, so that the next run
# needs no sudo.
own_build() {
  if [ -n "${SUDO_UID-}" ] && [ -d "$1" ]; then chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$1"; fi
}

# lacks PACKAGE...: prints packages that are not installed.
lacks() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done
}

# tool_packages: prints the packages for programs that are missing on this host.
tool_packages() {
  cmake --version >/dev/null 2>&1 || echo cmake
  ninja --version >/dev/null 2>&1 || echo ninja-build
  python3 --version >/dev/null 2>&1 || echo python3
}

# install_packages PACKAGE...: installs packages that are missing.
install_packages() {
  local missing
  command -v dpkg-query >/dev/null || die "this is no Debian system; install by hand: $*"
  mapfile -t missing < <(lacks "$@"; tool_packages)
  [ ${#missing[@]} = 0 ] && { say "packages: all are there"; return 0; }
  [ "$(id -u)" = 0 ] || command -v sudo >/dev/null || die "packages are missing and there is no sudo: ${missing[*]}"
  say "packages: installing ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { as_root apt-get update && as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -20 "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
  say "packages: installed"
}

# progress: reduces ninja's output to a line that is redrawn on a terminal, and
# to one line per tenth elsewhere.
progress() {
  local line done total tenth last=-1
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      done=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]} tenth=$((done * 10 / total))
      if [ -t 2 ]; then
        printf '\r[%3ds] build: %d of %d' $SECONDS "$done" "$total" >&2
      elif [ $tenth != $last ]; then
        say "build: $done of $total"
      fi
      last=$tenth
    fi
  done
  [ -t 2 ] && [ $last != -1 ] && echo >&2
  return 0
}

# build_targets FOLDER [TARGET...]: builds with ninja; stores the output in
# FOLDER/build.log and shows it on failure.
build_targets() {
  local folder=$1
  shift
  if ! (set -o pipefail && ninja -C "$folder" "$@" 2>&1 | tee "$folder/build.log" | progress); then
    grep -A 40 -m 1 FAILED "$folder/build.log" >&2 || tail -20 "$folder/build.log" >&2
    die "the build in $folder failed"
  fi
}
