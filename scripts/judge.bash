# Functions of scripts/test and scripts/smoke-proof that judge logs of tests, repeat tests that failed, and report; Tests/RepositoryTests
# runs them on written logs.
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

# Runs a step's command; a failure is noted, and the next step runs. In the background, since a signal is noticed after the end of a
# command in the foreground.
check() {
  local name=$1
  shift
  step "$name"
  "$@" &
  wait "$!" || failures+=("$name")
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

# The lines of a log. One with the mark of a test, or with a figure, begins with that: half a line of a program before it becomes a line of
# its own. Comments of issues, which may quote such lines, stay whole.
test_lines() {
  tr -d '\000' <"$1" | LC_ALL=C awk '
    !/^↳/ && match($0, /(✔|✘|◇|➜) Test |figure: \| /) && RSTART > 1 {
      print substr($0, 1, RSTART - 1)
      $0 = substr($0, RSTART)
    }
    { print }'
}

# Names of the tests of a log that began and did not end.
unfinished() {
  comm -23 <(test_lines "$1" | sed -nE '/^◇ Test run /d; s/^◇ Test (.*) started\.$/\1/p' | sort -u) \
    <(test_lines "$1" | sed -nE 's/^(✔|✘|➜) Test (.*) (passed after|failed after|skipped).*$/\2/p' |
      sed -E 's/ with [0-9]+ test cases?$//' | sort -u)
}

# The tests of a log that failed, as it names them: "display name" with its quotes, or function(label:).
failed_tests() {
  test_lines "$1" | sed -nE 's/^✘ Test (".*"|[^" ]+\([^ ]*\)) (with .*)?failed after .*/\1/p' | sort -u
}

# Counts the tests of a log, and notes what failed: judge_tests NAME LOG. A run that a crash, a signal or an exit has ended before
# its last line is a failure, whatever its status: tests that had not started are in no line of its log. So is one without a file
# LOG.status, whose shell was ended.
judge_tests() {
  local name=$1 log=$2 status end count ended line issues
  [ -f "$log" ] || : >"$log"
  status=$(cat "$log.status" 2>/dev/null || true)
  end="status $status"
  [[ $status =~ ^[0-9]+$ ]] || status=1 end='no known status'
  test_lines "$log" >"$log.lines"
  # The line of the whole run comes last, and counts all tests.
  count=$(sed -nE 's/^(✔|✘) Test run with ([0-9]+) tests? .*/\2/p' "$log.lines" | tail -n 1)
  ended=$count
  if [ -n "$count" ]; then
    count=$((count - $(grep -aE '^(✘ Test .* failed after|➜ Test .* skipped)' "$log.lines" |
      grep -avcE '^(✘|➜) Test (run with|case passing) ' || true)))
  else
    count=$(grep -aE '^✔ Test .* passed after' "$log.lines" | grep -avc ' Test case passing ' || true)
  fi
  test_count=$((test_count + count))
  grep -a '^figure: ' "$log.lines" >>"$logs/figures" || true
  # A filter that finds nothing is a mistake of this script.
  if [ "$status" -eq 0 ] && [ "$count" -eq 0 ] && [ -n "$ended" ]; then status=66 end='status 66'; fi
  printf '%s: %s passed, %d s since the start\n' "$name" "$count" "$SECONDS"
  [ "$status" -ne 0 ] || [ -z "$ended" ] || return 0
  tail -n 400 "$log"
  if [ "$status" -eq 124 ]; then
    failures+=("$name: did not end within ${limit:-2700} s")
  elif [ "$status" -eq 137 ]; then
    failures+=("$name: was killed: it did not end within ${limit:-2700} s, or had no memory")
  elif [ -z "$ended" ]; then
    failures+=("$name: ended with $end before the end of its tests; some may not have started")
  elif [ "$status" -gt 124 ] || [ "$end" = 'no known status' ]; then
    failures+=("$name: ended with $end after its tests")
  fi
  if [ -z "$ended" ]; then
    while IFS= read -r line; do failures+=("$name: did not end: $line"); done < <(unfinished "$log" | head -n 20)
  fi
  issues=$(grep -aE 'recorded an issue|^error: |Fatal error' "$log.lines" | cut -c -600 || true)
  while IFS= read -r line; do failures+=("$name: $line"); done < <(printf '%s' "${issues:+$issues$'\n'}")
  # The log may have lost the issue.
  while IFS= read -r line; do
    [[ $issues == *"Test $line recorded an issue"* ]] || failures+=("$name: Test $line failed")
  done < <(failed_tests "$log")
  # Tests that failed end a run with status 1.
  if [ -n "$ended" ] && [ "$status" -lt 124 ] && { [ "$status" -ne 1 ] || [ -z "$issues$(failed_tests "$log")" ]; } &&
    [ "$end" != 'no known status' ]; then
    failures+=("$name: exit $end")
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

# Expression that finds one test of a suite, by its name in a log: test_expression SUITE NAME. The name is the whole of the test's, so
# that none is found whose name has this one in it.
test_expression() {
  local name=${2#\"}
  name=${name%\"}
  case $2 in
    \"*) printf '^EndToEndTests\\.%s/(.*/)?.?%s.?[(]' "$1" "${name//[^A-Za-z0-9]/.}" ;;
    *) printf '^EndToEndTests\\.%s/(.*/)?%s' "$1" "${name//[^A-Za-z0-9]/.}" ;;
  esac
}

# Runs the tests that failed once more, alone: repeat_failures SUITE MAXIMUM BEFORE LOG, where more failures than the maximum are not
# repeated, and BEFORE is the number of failures before the log was judged. A test that fails again is a failure, one that passes is
# flaky, and counted as one test that passed; all else that failed at first remains a failure. Sets `again` to lines "NAME: passed
# alone", "NAME: failed again" or "NAME: not repeated".
repeat_failures() {
  local suite=$1 maximum=$2 before=$3 count passed line name text names first
  again=()
  mapfile -t names < <(failed_tests "$4")
  [ "${#names[@]}" -gt 0 ] || return 0
  if [ "${#names[@]}" -gt "$maximum" ]; then
    printf 'not repeated, since more than %s tests failed\n' "$maximum"
    for name in "${names[@]}"; do
      text=${name#\"}
      again+=("${text%\"}: not repeated")
    done
    return 0
  fi
  first=("${failures[@]:before}")
  failures=("${failures[@]:0:before}")
  for line in "${first[@]}"; do
    for name in "${names[@]}"; do
      [[ $line != *"Test $name recorded an issue"* && $line != *": Test $name failed" ]] || continue 2
    done
    failures+=("$line")
  done
  for name in "${names[@]}"; do
    text=${name#\"}
    text=${text%\"}
    count=${#failures[@]} passed=$test_count
    run_tests "once more, alone: $text" "$(test_expression "$suite" "$name")"
    if [ "${#failures[@]}" -gt "$count" ]; then
      again+=("$text: failed again")
      test_count=$passed
    else
      again+=("$text: passed alone")
      flaky+=("$text")
      # Suites may have tests of the same name.
      test_count=$((passed + 1))
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
      printf '\nFailed at first: %s, of which %s passed alone.\n\n' "${#again[@]}" \
        "$(printf '%s\n' "${again[@]}" | grep -c ': passed alone$' || true)"
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
