#!/usr/bin/env bash
# Plays a server's stream in a network of its own that refuses UDP to it, by one of the clients beside this script; prints what the client
# prints. Needs root.
#
# usage: without_udp.sh PROGRAM CLIENT [OPTION...]     CLIENT is page_webrtc.py, whep_play.py or whep_gstreamer.py
set -euo pipefail
folder=$(dirname "$0")
# shellcheck source=Tests/EndToEndTests/Clients/own_network.bash
source "$folder/own_network.bash"
enter_own_network "$@"
make_link
# A route to elsewhere, by which browsers find their own address.
ip addr add 192.0.2.9/24 dev near
ip route add default via 192.0.2.1
# Rules in front of the table of local addresses.
ip rule add pref 5 table local
ip rule add pref 1 ipproto udp dport 8189 prohibit
ip rule del pref 0
serve "$1" 127.0.0.1
# Debian packages the bindings of GStreamer for its own interpreter.
python=python3
[ "$2" != whep_gstreamer.py ] || python=/usr/bin/python3
path=/live/whep
[ "$2" != page_webrtc.py ] || path=/live
"$python" "$folder/$2" "http://127.0.0.1:8080$path" "${@:3}"
