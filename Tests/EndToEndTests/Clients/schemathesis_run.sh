#!/usr/bin/env bash
# Sends the requests that schemathesis makes from the server's OpenAPI document, and fails where a response differs from it.
#
#   schemathesis_run.sh BASE [TOKEN]      BASE is such as http://127.0.0.1:8080; a token makes it an operator
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
base=$1
folder=$PWD/.build-media/schemathesis
[ -e "$folder/requirements.txt" ] || {
  echo 'there is no schemathesis here; run scripts/setup --tests' >&2
  exit 1
}
options=()
[ -z "${2-}" ] || options=(--header "Authorization: Bearer $2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# Without the media, whose responses do not end, and the operations of which each change takes seconds.
NO_PROXY='*' PYTHONPATH=$folder python3 -m schemathesis.cli run "$base/api/openapi.json" "${options[@]}" \
  --url "$base" --phases examples,coverage,fuzzing --max-examples 10 --seed 1 --generation-deterministic --no-shrink \
  --workers 1 --request-timeout 20 --exclude-path-regex '/(mjpeg|events)$' --warnings off --max-time 40
