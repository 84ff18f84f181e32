#!/usr/bin/env bash
# Plays a server's stream in a network of its own whose addresses are of IPv6, but for that of the loopback interface, by one of the clients
# beside this script; prints what the client prints. Needs root.
#
# usage: ipv6_only.sh PROGRAM CLIENT [OPTION...]     CLIENT is page_webrtc.py, whep_play.py, whep_aiortc.py or whep_gstreamer.py
set -euo pipefail
if [ -z "${VIDICON_OWN_NETWORK:-}" ]; then
  VIDICON_OWN_NETWORK=1 exec unshare --net "$0" "$@"
fi
address=fd00:5::9
ip link set lo up
ip link add near type veth peer name far
ip link set near up
ip link set far up
# Without the detection of duplicates, for which an address waits a second.
ip address add "$address/64" dev near nodad
# By which clients find their own address.
ip route add default via fd00:5::1 dev near
"$1" serve --json --source bars --audio tone --size 640x360 --fps 30 --rtsp-port 0 --http-port 8080 --webrtc-port 8189 \
  --no-discovery --cors '*' > /dev/null &
server=$!
trap 'kill -INT $server; wait $server' EXIT
for _ in $(seq 100); do
  curl -sf -o /dev/null "http://[$address]:8080/health" && break
  sleep 0.1
done
# Debian packages the bindings of GStreamer for its own interpreter.
python=python3
[ "$2" != whep_gstreamer.py ] || python=/usr/bin/python3
path=/live/whep
[ "$2" != page_webrtc.py ] || path=/live
options=()
case $2 in page_webrtc.py | whep_play.py) options=(--own-addresses) ;; esac
"$python" "$(dirname "$0")/$2" "http://[$address]:8080$path" "${options[@]}" "${@:3}"
