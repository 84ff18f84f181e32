#!/usr/bin/env bash
# Plays a server's stream in Chromium in a network of its own that refuses UDP to it: from a bare page, or from the stream's own page;
# prints what whep_play.py prints, or page_webrtc.py. Needs root.
#
# usage: without_udp.sh PROGRAM [page]
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
if [ "${2:-}" = page ]; then
  python3 "$folder/page_webrtc.py" "http://127.0.0.1:8080/live"
else
  python3 "$folder/whep_play.py" "http://127.0.0.1:8080/live/whep" --frames 30
fi
