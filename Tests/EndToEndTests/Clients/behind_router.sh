#!/usr/bin/env bash
# Serves behind a router that translates addresses (nftables), and plays in Chromium on the other side of it; prints what whep_play.py
# prints. Without --ice-address it prints the candidates of an answer instead, and ends when the server has reported a client that did not
# come. Needs root.
#
#   server 192.168.7.2 ── 192.168.7.1 router 203.0.113.7 ── 203.0.113.9 client
#
# The client knows the router by a name: an address in the URL would be a candidate.
#
# usage: behind_router.sh PROGRAM [--ice-address 203.0.113.7]
set -euo pipefail
folder=$(dirname "$0")
# shellcheck source=Tests/EndToEndTests/Clients/own_network.bash
source "$folder/own_network.bash"
enter_own_network "$@"
mount -t tmpfs none /run
(cat /etc/hosts && echo '203.0.113.7 camera.test') > /run/hosts
mount --bind /run/hosts /etc/hosts
ip link set lo up
for name in router client; do
  ip netns add "$name"
  ip -n "$name" link set lo up
done
ip link add inside type veth peer name eth0 netns router
ip -n router link add outside type veth peer name eth0 netns client
ip address add 192.168.7.2/24 dev inside
ip -n router address add 192.168.7.1/24 dev eth0
ip -n router address add 203.0.113.7/24 dev outside
ip -n client address add 203.0.113.9/24 dev eth0
ip link set inside up
ip -n router link set eth0 up
ip -n router link set outside up
ip -n client link set eth0 up
ip route add default via 192.168.7.1
# By which browsers find their own address.
ip -n client route add default via 203.0.113.1
ip netns exec router sysctl -q -w net.ipv4.ip_forward=1
ip netns exec router nft -f - <<'RULES'
table ip router {
  chain incoming {
    type nat hook prerouting priority dstnat
    iif "outside" tcp dport { 8080, 8189 } dnat to 192.168.7.2
    iif "outside" udp dport 8189 dnat to 192.168.7.2
  }
  chain outgoing {
    type nat hook postrouting priority srcnat
    oif "outside" masquerade
  }
  chain forwarded {
    type filter hook forward priority filter; policy drop
    ct state established,related accept
    ct status dnat accept
    iif "eth0" accept
  }
}
RULES
serve "$1" 127.0.0.1 --host camera.test "${@:2}"
url=http://camera.test:8080/live/whep
if [ $# -gt 1 ]; then
  ip netns exec client python3 "$folder/whep_play.py" "$url" --frames 30
else
  offer=$folder/../../Captures/webrtc-offer-chromium.sdp
  ip netns exec client curl -sS --fail -H 'Content-Type: application/sdp' --data-binary "@$offer" "$url" | grep '^a=candidate'
  for _ in $(seq 400); do
    # No pipe: curl would fail where grep ends before it.
    [[ $(curl -sf http://127.0.0.1:8080/metrics) =~ vidicon_webrtc_sessions_failed_total\{[^}]*never_checked[^}]*\}\ 1 ]] && exit
    sleep 0.1
  done
  exit 1
fi
