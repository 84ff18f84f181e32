#!/usr/bin/env bash
# Creates an isolated network with a message bus for an mDNS daemon: the loopback interface, and veth0 with the address
# 10.200.0.1. Prints the bus's address when all is ready, and runs until it is terminated; other programs enter the
# network with nsenter.
#
# usage: mdns_network.sh
set -euo pipefail

# An unprivileged user can create a namespace only together with a user namespace.
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(--user --map-root-user)

# shellcheck disable=SC2016 # The inner shell expands it.
exec unshare "${as_root[@]}" --net --mount -- bash -euo pipefail -c '
ip link set lo up multicast on
ip link add veth0 type veth peer name veth1
ip address add 10.200.0.1/24 dev veth0
ip link set veth0 up
ip link set veth1 up

mount -t tmpfs none /run
mkdir /run/dbus /run/avahi-daemon
# The daemon changes the owner of its folder to its own user, who does not exist in a namespace with one user.
for file in passwd group; do
  sed -E "/^avahi:/s/:[0-9]+/:0/g" "/etc/$file" >"/run/$file"
  mount --bind "/run/$file" "/etc/$file"
done
cat >/run/bus.conf <<CONFIGURATION
<busconfig>
  <type>session</type>
  <listen>unix:path=/run/dbus/system_bus_socket</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
CONFIGURATION
cat >/run/avahi.conf <<CONFIGURATION
[server]
host-name=network-of-tests
allow-interfaces=lo,veth0
use-ipv6=no
[publish]
publish-hinfo=no
publish-workstation=no
CONFIGURATION
# The parent of the daemon keeps running, since it closes the descriptors that observers of this script wait on.
setpriv --pdeathsig KILL dbus-daemon --config-file=/run/bus.conf --nofork --print-address &
wait
'
