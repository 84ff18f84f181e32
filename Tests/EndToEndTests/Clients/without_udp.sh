#!/usr/bin/env bash
# Plays a server's stream in Chromium in a network of its own that refuses UDP to it: from a bare page, or from the stream's own page;
# prints what whep_play.py prints, or page_webrtc.py. Needs root.
#
# usage: without_udp.sh PROGRAM [page]
set -euo pipefail
if [ -z "${VIDICON_OWN_NETWORK:-}" ]; then
  VIDICON_OWN_NETWORK=1 exec unshare --net "$0" "$@"
fi
ip link set lo up
# A route to elsewhere, by which browsers find their own address.
ip link add near type veth peer name far
ip addr add 192.0.2.9/24 dev near
ip link set near up
ip link set far up
ip route add default via 192.0.2.1
# Rules in front of the table of local addresses.
ip rule add pref 5 table local
ip rule add pref 1 ipproto udp dport 8189 prohibit
ip rule del pref 0
"$1" serve --json --source bars --audio tone --size 640x360 --fps 30 --rtsp-port 0 --http-port 8080 --webrtc-port 8189 \
  --no-discovery --cors '*' > /dev/null &
server=$!
trap 'kill -INT $server; wait $server' EXIT
for _ in $(seq 100); do
  curl -sf -o /dev/null "http://127.0.0.1:8080/health" && break
  sleep 0.1
done
folder=$(dirname "$0")
if [ "${2:-}" = page ]; then
  python3 "$folder/page_webrtc.py" "http://127.0.0.1:8080/live"
else
  python3 "$folder/whep_play.py" "http://127.0.0.1:8080/live/whep" --frames 30
fi
