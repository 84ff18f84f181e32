# Functions of scripts/api-check that read and judge, and build nothing; Tests/RepositoryTests calls them.
# shellcheck shell=bash

say() { printf 'api-check: %s\n' "$*" >&2; }

# The first version after another that may break its promise: before 1.0.0 the next second number, then the next first one.
next_breaking_version() {
  local first second
  IFS=. read -r first second _ <<<"$1"
  if [ "$first" -eq 0 ]; then
    printf '0.%s.0\n' "$((second + 1))"
  else
    printf '%s.0.0\n' "$((first + 1))"
  fi
}

# Whether a version may break the promise of an earlier one: allows_breakage EARLIER VERSION.
allows_breakage() { printf '%s\n' "$(next_breaking_version "$1")" "$2" | sort --version-sort --check=quiet; }

# Names of the promised libraries, of what "swift package dump-package" prints: without the executables, and those that begin with _.
promised_products() {
  python3 -c '
import json, sys
for product in json.load(sys.stdin)["products"]:
    if "library" in product["type"] and not product["name"].startswith("_"):
        print(product["name"])'
}

# Modules, and types as MODULE.TYPE, that a Vidicon.swift re-exports.
reexports() { sed -nE 's/^@_exported public import ([a-z]+ )?([A-Za-z0-9_.]+).*/\2/p'; }

# Names of a list that a later one has not: missing NAMES NAMES, a line each. A module has all of its types.
missing() {
  local name
  while IFS= read -r name; do
    [ -z "$name" ] || grep -qxF -e "$name" -e "${name%%.*}" <<<"$2" || printf '%s\n' "$name"
  done <<<"$1"
}

# Breakages of a log. MediaConnection is open, since other targets have subclasses of it, but neither a library nor a re-export
# promises it.
breakages() { sed -nE '/API breakage: [a-z ]+ MediaConnection([. ]|$)/d; s/^.*API breakage: /broken: /p' "$1"; }

# Judges the log of a comparison: judge_api EARLIER VERSION STATUS LOG, with two versions and the exit status of SwiftPM, which is the
# same for breakages and for comparisons that fail.
judge_api() {
  local earlier=$1 version=$2 status=$3 log=$4 found count
  if grep -v 'API breakage: ' "$log" | grep -qE '(^|: )error: ' ||
    { [ "$status" -ne 0 ] && ! grep -qE '^[0-9]+ breaking changes? detected in ' "$log"; }; then
    say "the comparison failed with status $status, see above"
    return 1
  fi
  found=$(breakages "$log")
  if [ -z "$found" ]; then
    say "$version keeps the promise of $earlier"
    return 0
  fi
  count=$(wc -l <<<"$found")
  printf '%s\n' "$found"
  if allows_breakage "$earlier" "$version"; then
    say "$version may break the promise of $earlier; breakages: $count, which CHANGELOG.md has to name"
  else
    say "$version may not break the promise of $earlier; breakages: $count; undo them, or make it $(next_breaking_version "$earlier")"
    return 1
  fi
}
