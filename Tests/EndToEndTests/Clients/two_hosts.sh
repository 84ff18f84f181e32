#!/usr/bin/env bash
# Four hosts in networks of their own, which reach nothing outside: this one, where the program runs, "owner" and
# "neighbor" on one network with it, and "stranger" on another, each on a wire (veth).
#
#   owner      10.77.1.2, fd77:1::2    its server is 10.77.1.1, fd77:1::1
#   neighbor  10.77.1.3, fd77:1::3    its server is 10.77.1.1, fd77:1::1
#   stranger   10.77.2.2, fd77:2::2    its server is 10.77.2.1, fd77:2::1
#
# Prints "ready" when all is up, and lasts until it is ended; other programs enter with nsenter, and from there a host
# with "ip netns exec HOST".
#
# usage: two_hosts.sh
set -euo pipefail

# An unprivileged user is root in a user namespace.
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(--user --map-root-user)

# shellcheck disable=SC2016 # The inner shell expands it.
exec unshare "${as_root[@]}" --net --mount -- bash -euo pipefail -c '
mount -t tmpfs none /run
ip link set lo up
ip link add home type bridge
for host in owner:1:2:home neighbor:1:3:home stranger:2:2:stranger; do
  IFS=: read -r name network number device <<< "$host"
  ip netns add "$name"
  ip link add "$name" type veth peer name eth0 netns "$name"
  [ "$device" = "$name" ] || ip link set "$name" master "$device"
  ip link set "$name" up
  ip -n "$name" address add "10.77.$network.$number/24" dev eth0
  ip -n "$name" address add "fd77:$network::$number/64" dev eth0 nodad
  ip -n "$name" link set eth0 up
  ip -n "$name" link set lo up
done
for device in home:1 stranger:2; do
  IFS=: read -r name network <<< "$device"
  ip address add "10.77.$network.1/24" dev "$name"
  ip address add "fd77:$network::1/64" dev "$name" nodad
  ip link set "$name" up
done
echo ready
exec sleep infinity
'
