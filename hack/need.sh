#!/usr/bin/env bash
# Makes sure that a program is there: hack/need.sh PROGRAM DEBIAN-PACKAGE...
# Installs the packages when it runs as root on Debian, else says what to do.
set -euo pipefail
program=$1
shift
command -v "$program" >/dev/null && exit 0
if [[ $EUID -eq 0 ]] && command -v apt-get >/dev/null; then
  echo "installing $* (for $program)"
  if apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null; then
    exit 0
  fi
  echo "error: apt-get could not install $* (above); install $program and run it again" >&2
  exit 1
fi
echo "error: $program is missing; install it (Debian: sudo apt-get install $*) and run it again" >&2
exit 1
