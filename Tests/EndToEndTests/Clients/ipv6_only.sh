#!/usr/bin/env bash
# Plays a server's stream in a network of its own whose addresses are of IPv6, but for that of the loopback interface, by one of the clients
# beside this script; prints what the client prints. Needs root.
#
# usage: ipv6_only.sh PROGRAM CLIENT [OPTION...]     CLIENT is page_webrtc.py, whep_play.py, whep_aiortc.py or whep_gstreamer.py
set -euo pipefail
folder=$(dirname "$0")
# shellcheck source=Tests/EndToEndTests/Clients/own_network.bash
source "$folder/own_network.bash"
enter_own_network "$@"
make_link
address=fd00:5::9
# Without the detection of duplicates, for which an address waits a second.
ip address add "$address/64" dev near nodad
# By which clients find their own address.
ip route add default via fd00:5::1 dev near
serve "$1" "[$address]"
# Debian packages the bindings of GStreamer for its own interpreter.
python=python3
[ "$2" != whep_gstreamer.py ] || python=/usr/bin/python3
path=/live/whep
[ "$2" != page_webrtc.py ] || path=/live
options=()
case $2 in page_webrtc.py | whep_play.py) options=(--own-addresses) ;; esac
"$python" "$folder/$2" "http://[$address]:8080$path" "${options[@]}" "${@:3}"
