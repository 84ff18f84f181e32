# Functions of scripts/test that judge logs of tests, repeat tests that failed, and report; Tests/RepositoryTests runs them on written logs.
# shellcheck shell=bash disable=SC2034 # Variables of its users.

# Folder of logs, which its user removes.
logs=$(mktemp -d)
# Steps and tests that failed, a line each.
failures=()
test_count=0
# Tests that failed, and passed alone.
flaky=()
# Results of repeating tests, a line each.
again=()

step() { printf '\n== %s (%d s since the start)\n' "$*" "$SECONDS"; }

# Runs a step's command; a failure is noted, and the next step runs.
check() {
  local name=$1
  shift
  step "$name"
  "$@" || failures+=("$name")
}

# Prints all failures and the result, and exits.
finish() {
  local result=passed
  if [ "${#failures[@]}" -gt 0 ]; then
    result=FAILED
    step 'what failed'
    printf '%s\n' "${failures[@]}"
  fi
  [ "${#flaky[@]}" -eq 0 ] || printf 'FLAKY: %s\n' "${flaky[@]}"
  printf '\n%s: %s tests passed, %s failures, %s flaky, %s s\n' \
    "$result" "$test_count" "${#failures[@]}" "${#flaky[@]}" "$SECONDS"
  [ "$result" = passed ]
  exit
}

# Names of the tests of a log that began and did not end.
unfinished() {
  comm -23 <(sed -nE '/^◇ Test run /d; s/^◇ Test (.*) started\.$/\1/p' "$1" | sort -u) \
    <(sed -nE 's/^(✔|✘|➜) Test (.*) (passed|failed|skipped).*$/\2/p' "$1" | sed -E 's/ with [0-9]+ test cases?$//' | sort -u)
}

# Display names of the tests of a log that failed.
failed_tests() { sed -nE 's/^✘ Test "(.*)" (with .*)?failed after .*/\1/p' "$1" | sort -u; }

# Counts the tests of a log, and notes what failed: judge_tests NAME LOG. A run that a crash, a signal or an exit has ended before
# its last line is a failure, whatever its status: tests that had not started are in no line of its log.
judge_tests() {
  local name=$1 log=$2 status count ended line issues
  status=$(<"$log.status")
  # A line of the program's log may hide a test's; the line of the whole run comes last, and counts all tests.
  count=$(sed -nE 's/^.*(✔|✘) Test run with ([0-9]+) tests? .*/\2/p' "$log" | tail -n 1)
  ended=$count
  if [ -n "$count" ]; then
    count=$((count - $(grep -aE '^(✘ Test .* failed after|➜ Test .* skipped)' "$log" | grep -vcE ' Test (run with|case passing)' || true)))
  else
    count=$(grep -acE '^✔ Test .* passed after' "$log" || true)
  fi
  test_count=$((test_count + count))
  grep -a '^figure: ' "$log" >>"$logs/figures" || true
  # A filter that finds nothing is a mistake of this script.
  [ "$status" -ne 0 ] || [ "$count" -gt 0 ] || status=66
  printf '%s: %s passed, %d s since the start\n' "$name" "$count" "$SECONDS"
  [ "$status" -ne 0 ] || [ -z "$ended" ] || return 0
  tail -n 400 "$log"
  if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
    failures+=("$name: did not end within ${limit:-2700} s")
  elif [ -z "$ended" ]; then
    failures+=("$name: ended with status $status before the end of its tests; some may not have started")
  elif [ "$status" -gt 124 ]; then
    failures+=("$name: ended with status $status after its tests")
  fi
  if [ -z "$ended" ]; then
    while IFS= read -r line; do failures+=("$name: did not end: $line"); done < <(unfinished "$log" | head -n 20)
  fi
  issues=$(grep -aE 'recorded an issue|^error: |Fatal error' "$log" | cut -c -600 || true)
  while IFS= read -r line; do failures+=("$name: $line"); done < <(printf '%s' "${issues:+$issues$'\n'}")
  # A line of the program's log may have hidden the issue.
  while IFS= read -r line; do
    [[ $issues == *"Test \"$line\" recorded an issue"* ]] || failures+=("$name: Test \"$line\" failed")
  done < <(failed_tests "$log")
  # Tests that failed end a run with status 1.
  if [ -n "$ended" ] && [ "$status" -lt 124 ] && { [ "$status" -ne 1 ] || [ -z "$issues$(failed_tests "$log")" ]; }; then
    failures+=("$name: exit status $status")
  fi
}

# Runs and judges tests: run_tests NAME EXPRESSION
run_tests() {
  step "$1"
  start_tests "$logs/tests" "$2"
  judge_tests "$1" "$logs/tests"
}

# Runs tests, and those that failed once more: run_twice NAME SUITE MAXIMUM, see `repeat_failures`.
run_twice() {
  local before=${#failures[@]}
  run_tests "$1" "^EndToEndTests\\.$2/"
  repeat_failures "$2" "$3" "$before" "$logs/tests"
}

# Runs the tests that failed once more, alone: repeat_failures SUITE MAXIMUM BEFORE LOG, where more failures than the maximum are not
# repeated, and BEFORE is the number of failures before the log was judged. A test that fails again is a failure, one that passes is
# flaky; all else that failed at first remains a failure. Sets `again` to lines "NAME: passed alone", "NAME: failed again" or
# "NAME: not repeated".
repeat_failures() {
  local suite=$1 maximum=$2 before=$3 count line name names first
  again=()
  mapfile -t names < <(failed_tests "$4")
  [ "${#names[@]}" -gt 0 ] || return 0
  if [ "${#names[@]}" -gt "$maximum" ]; then
    printf 'not repeated, since more than %s tests failed\n' "$maximum"
    again=("${names[@]/%/: not repeated}")
    return 0
  fi
  first=("${failures[@]:before}")
  failures=("${failures[@]:0:before}")
  for line in "${first[@]}"; do
    for name in "${names[@]}"; do
      [[ $line != *"Test \"$name\" recorded an issue"* && $line != *": Test \"$name\" failed" ]] || continue 2
    done
    failures+=("$line")
  done
  for name in "${names[@]}"; do
    count=${#failures[@]}
    run_tests "once more, alone: $name" "^EndToEndTests\\.$suite/.*${name//[^A-Za-z0-9]/.}"
    if [ "${#failures[@]}" -gt "$count" ]; then
      again+=("$name: failed again")
    else
      again+=("$name: passed alone")
      flaky+=("$name")
    fi
  done
  printf 'at first: %s\n' "${first[@]}"
  printf '%s\n' "${again[@]}"
}

# The worst value of each figure of a log, as rows of a table; limits with "≥" are lower bounds.
worst_figures() {
  sed -nE 's/^figure: \| (.*) \| (.*) \| (.*) \| (.*) \|$/\1\t\2\t\3\t\4/p' "$1" | awk -F '\t' '
    { key = "| " $1 " | " $2; sign = $4 ~ /≥/ ? -1 : 1 }
    !(key in worst) || sign * $3 > sign * worst[key] { worst[key] = $3; limit[key] = $4 }
    END { for (key in worst) print key " | " worst[key] " | " limit[key] " |" }' | sort
}

# Writes the figures and failures of the long suite to a page, between its two marks: report_long_suite PAGE FIGURES SECONDS LOAD.
report_long_suite() {
  local page=$1 report=$logs/report line
  {
    printf 'Commit %s, %s, %s s on %s cores of %s, %s GiB, beside a load of %s.\n' \
      "$(git rev-parse --short=12 HEAD)$([ -z "$(git status --porcelain --untracked-files=no)" ] || printf -- '-dirty')" \
      "$(date -u +%Y-%m-%d)" "$3" "$(nproc)" "$(LC_ALL=C lscpu | sed -n 's/^Model name: *//p' | head -n 1)" \
      "$(awk '/MemTotal/ { printf "%d", $2 / 1048576 }' /proc/meminfo)" "$4"
    printf '\n%s tests passed.' "$test_count"
    if [ "${#failures[@]}" -eq 0 ] && [ "${#again[@]}" -eq 0 ]; then printf ' None failed.'; fi
    printf '\n'
    if [ "${#again[@]}" -gt 0 ]; then
      printf '\nFailed at first:\n\n'
      printf -- '- %s\n' "${again[@]}"
    fi
    if [ "${#failures[@]}" -gt 0 ]; then
      printf '\nFailed:\n\n'
      for line in "${failures[@]}"; do printf -- '- %s\n' "${line:0:200}"; done
    fi
    printf '\n| Test | Figure | Measured | Limit |\n| --- | --- | --- | --- |\n'
    worst_figures "$2"
  } >"$report"
  awk -v report="$report" '
    /<!-- long suite -->/ { print; while ((getline line < report) > 0) print line; skipping = 1 }
    /<!-- end of the long suite -->/ { skipping = 0 }
    !skipping || /<!-- end/ { if (!/<!-- long suite -->/) print }
  ' "$page" >"$logs/page" && cat "$logs/page" >"$page"
}
