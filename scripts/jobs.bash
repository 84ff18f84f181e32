# Ends what a script has started: for scripts/test and scripts/smoke-proof.
# shellcheck shell=bash

# Processes that descend from that of a number: descendants PID. Read from /proc, since a fresh Debian has no ps.
descendants() {
  local file line pid found=("$1") index=0
  local -A parents=()
  for file in /proc/[0-9]*/stat; do
    # A process may have ended.
    { read -r line <"$file"; } 2>/dev/null || continue
    pid=${file#/proc/} pid=${pid%/stat}
    # The name, in parentheses, may have spaces and parentheses itself.
    read -r _ parents["$pid"] _ <<<"${line##*) }"
  done
  while [ "$index" -lt "${#found[@]}" ]; do
    for pid in "${!parents[@]}"; do
      [ "${parents[$pid]}" != "${found[$index]}" ] || found+=("$pid")
    done
    index=$((index + 1))
  done
  printf '%s\n' "${found[@]:1}"
}

# Sets `living` to those of the given processes that run. One that has ended, and whose parent has not asked for its status, is a zombie.
find_living() {
  local pid
  living=()
  for pid in "$@"; do
    if [ -n "$pid" ] && [ -e "/proc/$pid/stat" ] && ! grep -qs '^State:.Z' "/proc/$pid/status"; then living+=("$pid"); fi
  done
}

# Ends everything that this script has started and that runs, with its children: by SIGTERM, and after ten seconds by SIGKILL. Sets
# `living` to what runs on: programs of root, which another user cannot end.
end_jobs() {
  local pids=() end=$((SECONDS + 10))
  # Bash would report each job that a signal ends.
  disown -a
  mapfile -t pids < <(descendants "$$")
  kill -TERM "${pids[@]}" 2>/dev/null || true
  find_living "${pids[@]}"
  while [ "${#living[@]}" -gt 0 ] && [ "$SECONDS" -lt "$end" ]; do
    sleep 0.1
    find_living "${pids[@]}"
  done
  [ "${#living[@]}" -gt 0 ] || return 0
  kill -KILL "${living[@]}" 2>/dev/null || true
  sleep 0.1
  find_living "${pids[@]}"
}

# For `trap … INT TERM HUP`: ends the script with one line.
interrupted() {
  trap '' INT TERM HUP
  end_jobs
  if [ "${#living[@]}" -eq 0 ]; then
    printf '\ninterrupted after %s s; all that was started has ended\n' "$SECONDS" >&2
  else
    printf '\ninterrupted after %s s; programs of root run on: %s\n' "$SECONDS" "${living[*]}" >&2
  fi
  exit 130
}
