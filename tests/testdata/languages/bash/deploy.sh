#!/usr/bin/env bash
# shellcheck disable=SC1091
set -euo pipefail

# Where releases are kept.
readonly RELEASES=/srv/releases KEEP=5
declare -r STAGE="${1:-test}"
declare -A HOSTS=([test]=one.example [live]=two.example)
declare -i count
declare -f log
export DEPLOY_USER=deploy PATH="$PATH:/opt/bin"
export STAGE
root="$(cd "$(dirname "$0")" && pwd)"
root=/again
hosts=(a b)
hosts+=(c)
hosts[1]=d
IFS=$'\n'
LOG_FILE=$root/deploy.log run_something

source "$root/lib/common.sh"
. ./functions.bash
[[ -f /etc/deploy ]] && source '/etc/deploy'

alias ll='ls -l' gs="git status"

# Writes a line to the log.
#
# Arguments: the text.
log() {
  local text="$1"
  temporary=1
  export LAST_LOG="$text"
  printf '%s\n' "$text"
}

function check_host {
  local -r host=$1
  readonly CHECKED=yes
  declare local_only=1
  declare -g SEEN=1
  ping_once() { ping -c 1 "$host"; }
  ping_once
}

function with-dashes::and_colons() (
  cd /tmp || exit
)

if [[ "$STAGE" == live ]]; then
  confirm() { read -r answer; }
  LIVE=1
else
  confirm() { :; }
fi

case "$(uname)" in
  Darwin)
    sed_in_place() { sed -i '' "$@"; }
    ;;
  *) sed_in_place() { sed -i "$@"; } ;;
esac

for host in "${HOSTS[@]}"; do
  status=$(check_host "$host")
done

cat <<EOF > notes.txt
not_a_function() {
}
EOF

main() { log "start"; } >> "$root/deploy.log"

main "$@"
