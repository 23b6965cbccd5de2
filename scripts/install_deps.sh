#!/usr/bin/env bash
# Installs the Debian packages that weft is built from, those of them that are missing. Asks nothing.
#   scripts/install_deps.sh          compiler, libraries, test libraries
#   scripts/install_deps.sh --ci     also what .ci/run needs
set -euo pipefail

packages=(
  g++ cmake ninja-build pkg-config
  libdnnl-dev libhwy-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libtomlplusplus-dev libcli11-dev
  libutf8proc-dev libpcre2-dev libsentencepiece-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  ocl-icd-opencl-dev # not used by weft: the CMake package of libdnnl-dev in Debian 12 does not load without it
)
case "${1:-}" in
  "") ;;
  --ci) packages+=(python3 chromium) ;; # chromium: scripts/check_pages.py
  *) echo "usage: scripts/install_deps.sh [--ci]" >&2; exit 2 ;;
esac

if ! command -v apt-get > /dev/null || ! command -v dpkg-query > /dev/null; then
  {
    echo "error: install_deps: expected a Debian system with apt-get (Debian 12 or later), found none."
    echo "Install by hand what these packages hold, then run cmake --preset release: ${packages[*]}"
  } >&2
  exit 1
fi

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null)" = installed ]; }

missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
# The formatter decides by version (scripts/format.sh); where the distribution has no version 14, none is installed.
if [ "${1:-}" = --ci ] && ! command -v clang-format-14 > /dev/null; then
  want_formatter=1
fi
if [ ${#missing[@]} -eq 0 ] && [ -z "${want_formatter:-}" ]; then
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo > /dev/null; then
    {
      echo "error: install_deps: packages are missing, and this user is neither root nor has sudo. As root, run:"
      echo "  apt-get update && apt-get install --yes ${missing[*]:-clang-format-14}"
    } >&2
    exit 1
  fi
  as_root=(sudo)
fi
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0 "$@"; }

apt update
if [ -n "${want_formatter:-}" ] && apt-cache show clang-format-14 > /dev/null 2>&1; then
  missing+=(clang-format-14)
fi
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi
echo "installing: ${missing[*]}"
if ! apt install --yes --no-install-recommends "${missing[@]}"; then
  echo "error: install_deps: apt-get could not install: ${missing[*]} (the packages are those of Debian 12 and 13)" >&2
  exit 1
fi
