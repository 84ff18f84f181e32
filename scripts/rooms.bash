# The rooms of tests, how they are built and how they run: for scripts/test and scripts/smoke-proof.
# shellcheck shell=bash disable=SC2034 # Variables of its users.

# Flags of every debug build, which would compile everything again with others: C is optimized, and without debug information
# the compiler needs a sixth less time.
debug_build=(-Xcc -O2 -debug-info-format none)

# Rooms that only compute: most of them run together, the slowest ones alone. All others wait for devices, timers and sockets, but for
# VidiconCommandTests, which computes most of the time.
computing_rooms=(
  Authentication Bitstreams Codecs Containers Cryptography HLS Inference Media RTMP RTP RTSP Repository WebPage
)
long_rooms=(FuzzBodiesTests EffectsTests VidiconCommandTests WebRTCTests PushingTests)
computing="($(IFS='|'; printf '%s' "${computing_rooms[*]}"))Tests"
waiting_rooms=()
for room in Tests/*Tests; do
  room=${room#Tests/}
  [[ $room =~ ^$computing$ || " ${long_rooms[*]} EndToEndTests " == *" $room "* ]] || waiting_rooms+=("$room")
done
# Rooms with figures that only a quiet machine judges.
timing_rooms=(VidiconCommandTests "${waiting_rooms[@]}")

# Runs tests, by a regular expression of their names, and logs them: start_tests LOG EXPRESSION. At most four tests of a
# process run at once: a test whose thread waits for another test's would wait longer than the time that it is about. A signal ends the
# wait for them.
start_tests() {
  local log=$1 filter=$2 status=0
  rm -f "$log.status"
  SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=${width:-4} timeout --kill-after=10 "${limit:-2700}" \
    .build/debug/vidiconPackageTests.xctest --testing-library swift-testing --filter "$filter" \
    </dev/null >"$log" 2>&1 &
  wait "$!" || status=$?
  printf '%s\n' "$status" >"$log.status"
}
