#!/bin/bash -eu
#
# Backups of a shelf: what is kept and for how long.
# not_a_function() { echo; }

shopt -s extglob nullglob
set -o pipefail; VERBOSE=0; DRY_RUN=${DRY_RUN:-0}
: "${TARGET:=/backup}"
readonly VERSION="1.4"
typeset -r OLD_STYLE=1
declare -A -r COLOURS=(
  [red]='31'
  [green]="32; func() { :; }"
)
declare -xi LEVEL=3
declare UNSET_YET
SOURCES=(
  /etc   # settings
  "/home/$USER/a b"
)
SOURCES+=("/srv")
MULTI_LINE='
in_a_string() {
  echo
}
NOT_A_VARIABLE=1
'
export EDITOR
export PATH="$HOME/bin:$PATH" LANG=C
TODAY=$(date +%F)
export EDITOR_NAME=vi
local_looking=1 command_with_env --flag
FOO=bar BAR=baz ./run.sh
((COUNTER = 0))
let TOTAL=3
printf -v FORMATTED '%s' x
read -r ANSWER <<< "yes"
IFS=: read -ra PARTS <<< "$PATH"
mapfile -t LINES_READ < <(ls)

source "$(dirname "${BASH_SOURCE[0]}")/lib/colours.sh"
. "${HERE}/lib/common.sh"
source ./lib/local.sh || exit 1
if [ -f ~/.backuprc ]; then . ~/.backuprc; fi

alias b='backup' bb="backup --all"
unalias b

# Prints a usage text.
usage() {
  cat <<-EOF
	Usage: $0 [options]
	fake_function() {
	  echo
	}
	EOF
  exit "${1:-0}"
}

die () { printf >&2 '%s\n' "$*"; exit 1; }
function warn() { echo "warn: $1" >&2; }
function   info   { echo "$@"; }
function paren_body (
  cd / && pwd
)
one() { :; }; two() { :; }
loop_body() for i in 1 2; do echo "$i"; done
test_body() [[ -n $1 ]]
arith_body() (( $1 > 3 ))
next_line()
{
  echo "brace on the next line"
}
with_redirect() { echo hidden; } > /dev/null 2>&1
function ns::copy.file+more@x() { cp -- "$1" "$2"; }
_private() { :; }
time_it() { local start=$SECONDS; "$@"; echo $((SECONDS - start)); }

# shellcheck disable=SC2034
backup_one() {
  local source=$1 name="${2-}" ; local -i n=0
  local result
  result=$(tar -cf - "$source" | gzip -9) || die "no ${source//\//_}"
  declare -gA SEEN
  GLOBAL_FROM_FUNCTION=1
  export EXPORTED_INSIDE=1
  inner_helper() {
    deeper() { :; }
    echo "$1"
  }
  case $name in
    (a|b) inner_case() { :; } ;;
    !(c)) echo "other" ;;
    *) return 1 ;;
  esac
  while IFS= read -r line; do
    [[ $line =~ ^func\(\) ]] && continue
    n+=1
  done < "$source"
  trap 'cleanup; exit_function() { :; }' EXIT INT
  echo "${result:0:10}" "${#name}" "$((n << 2))"
}

for shelf in "${SOURCES[@]}"; do
  eval "dynamic_${shelf}() { :; }"
done

if ((VERBOSE)); then
  log() { echo "$@"; }
elif command -v logger > /dev/null; then
  log() { logger "$@"; }
else log() { :; }; fi

[[ -n ${CI:-} ]] && ci_only() { echo ci; }
command -v tput >/dev/null || tput() { :; }
{
  grouped() { :; }
  GROUPED=1
}
(
  subshelled() { :; }
)
cat << 'QUOTED' | sed 's/x/y/' > out.txt
also_fake() {
}
QUOTED

select choice in yes no; do break; done
until false; do break; done
coproc WORKER { sleep 1; }
time backup_one /etc

main() {
  while (( $# )); do
    case "$1" in
      -h|--help) usage ;;
      --) shift; break ;;
    esac
    shift
  done
  backup_one "$@"
}

main "$@"
