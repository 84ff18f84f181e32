#!/usr/bin/env bash
# Three hosts in networks of their own, which reach nothing outside: this one, where the program runs, "owner" and
# "stranger", each on a wire (veth) to it.
#
#   owner     10.77.1.2, fd77:1::2    its server is 10.77.1.1, fd77:1::1
#   stranger  10.77.2.2, fd77:2::2    its server is 10.77.2.1, fd77:2::1
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
number=1
for host in owner stranger; do
  ip netns add "$host"
  ip link add "$host" type veth peer name eth0 netns "$host"
  ip address add "10.77.$number.1/24" dev "$host"
  ip address add "fd77:$number::1/64" dev "$host" nodad
  ip link set "$host" up
  ip -n "$host" address add "10.77.$number.2/24" dev eth0
  ip -n "$host" address add "fd77:$number::2/64" dev eth0 nodad
  ip -n "$host" link set eth0 up
  ip -n "$host" link set lo up
  number=$((number + 1))
done
echo ready
exec sleep infinity
'
