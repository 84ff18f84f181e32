#!/usr/bin/env bash
# A machine of the test's own: a copy-on-write view of the files of this one, networks, processes and a host name in
# namespaces of their own. Whatever is changed there ends with it, and nothing of this machine is reached: what is
# written stays in memory, settings of the kernel are read-only, and the clock cannot be set.
#
# It has a user "door", who may use sudo without a password, and an interface "near" with the address 10.79.0.1, whose
# other end is there too. The program is in /srv/vidicon, with FILES beside it.
#
# Prints "ready" and the process to enter with nsenter, and lasts until it gets SIGTERM.
#
# usage: own_machine.sh [--systemd] PROGRAM [FILE...]     as root
#
# --systemd: with systemd as its first process, which starts no service but the message bus.
set -euo pipefail

die() {
  printf 'own_machine.sh: %s\n' "$*" >&2
  exit 1
}

# The first process of the machine, in namespaces of its own.
make_machine() {
  # The /proc of the test still shows the process by its number there.
  read -r process _ </proc/self/stat
  local systemd=$1 program=$2 base=/mnt root=/mnt/root name
  shift 2
  mount -t tmpfs none "$base"
  mkdir "$base/upper" "$base/work" "$root"
  mount -t overlay -o "lowerdir=/,upperdir=$base/upper,workdir=$base/work" none "$root" ||
    die 'there is no overlayfs here, without which the files of this machine would be changed'
  mkdir "$root/srv/vidicon" "$root/srv/vidicon/program"
  mount --bind "$(dirname "$program")" "$root/srv/vidicon/program"
  mount -o remount,ro,bind "$root/srv/vidicon/program"
  ln -s "program/$(basename "$program")" "$root/srv/vidicon/vidicon"
  for name in "$@"; do install -m 755 "$name" "$root/srv/vidicon/"; done
  mount -t proc none "$root/proc"
  mount --bind "$root/proc/sys" "$root/proc/sys"
  mount -o remount,ro,bind "$root/proc/sys"
  mount -t sysfs -o ro none "$root/sys"
  [ "$systemd" = no ] || mount -t cgroup2 none "$root/sys/fs/cgroup"
  mount -t tmpfs -o mode=755 none "$root/dev"
  for name in null zero full random urandom tty; do
    touch "$root/dev/$name"
    mount --bind "/dev/$name" "$root/dev/$name"
  done
  mkdir "$root/dev/shm"
  ln -s /proc/self/fd "$root/dev/fd"
  for name in dev/shm tmp var/tmp; do mount -t tmpfs -o mode=1777 none "$root/$name"; done
  for name in run var/log; do mount -t tmpfs -o mode=755 none "$root/$name"; done
  mkdir "$root/run/before"
  cd "$root"
  pivot_root . run/before
  umount --lazy /run/before
  cd /

  # Of a container, which has the network and the clock of its host: this one is to be a whole machine.
  rm -f /.dockerenv
  useradd --create-home --shell /bin/sh door
  echo 'door ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/door
  hostname own-machine
  echo own-machine >/etc/hostname
  echo '127.0.0.1 localhost own-machine' >/etc/hosts
  ip link set lo up
  ip link add near type veth peer name far
  ip address add 10.79.0.1/24 dev near
  ip link set near up
  ip link set far up
  local first=(sleep infinity)
  if [ "$systemd" = yes ]; then
    # No service of this machine's installation but those that a test starts.
    rm -rf /etc/systemd/system/*.wants
    local unit units=/etc/systemd/system
    for unit in sysinit basic; do printf '[Unit]\nDescription=%s\n' "$unit" >"$units/$unit.target"; done
    printf '[Unit]\nDefaultDependencies=no\nWants=dbus.socket\n' >"$units/own.target"
    for unit in systemd-tmpfiles-setup.service tmp.mount; do ln -sf /dev/null "$units/$unit"; done
    # The time service sets the clock, which no process may here: another program runs in its place.
    printf '%s\n' '[Service]' Type=exec 'ExecStart=/bin/sleep infinity' RuntimeDirectory=systemd/timesync '[Install]' \
      WantedBy=own.target >"$units/systemd-timesyncd.service"
    mkdir -p /usr/lib/systemd/ntp-units.d
    echo systemd-timesyncd.service >/usr/lib/systemd/ntp-units.d/00-own.list
    touch /usr/lib/systemd/systemd-timesyncd
    # In a container systemd leaves devices alone.
    {
      until systemctl --quiet is-active own.target 2>/dev/null; do sleep 0.1; done
      rm -f /run/systemd/container
      echo "ready $process"
    } &
    first=(env container=own /lib/systemd/systemd --system --unit=own.target --show-status=no)
  fi
  [ "$systemd" = yes ] || echo "ready $process"
  exec setpriv --bounding-set=-sys_time,-sys_module,-sys_boot,-sys_rawio "${first[@]}" >/dev/null 2>&1
}

if [ "${1:-}" = --inside ]; then
  shift
  make_machine "$@"
fi

[ "$(id -u)" -eq 0 ] || die 'only root can make a machine with users of its own; run the tests as root'
systemd=no
if [ "${1:-}" = --systemd ]; then
  systemd=yes
  shift
fi

# A group of processes of its own, since systemd makes groups below that of the machine, which stay without it.
group=
if [ "$systemd" = yes ] && [ -z "${VIDICON_OWN_GROUPS:-}" ]; then
  VIDICON_OWN_GROUPS=1 exec unshare --mount -- "$0" --systemd "$@"
fi
leave() {
  trap - EXIT
  kill -KILL "$machine" 2>/dev/null || true
  wait "$machine" 2>/dev/null || true
  if [ -n "$group" ]; then
    echo $$ >/mnt/cgroup.procs
    # Processes that were killed leave their groups a moment later.
    for _ in $(seq 100); do
      find "$group" -depth -type d -exec rmdir {} ';' 2>/dev/null || true
      [ -d "$group" ] || break
      sleep 0.05
    done
  fi
}
if [ "$systemd" = yes ]; then
  mount -t cgroup2 none /mnt
  group=/mnt/vidicon-tests-$$
  mkdir "$group"
  echo $$ >"$group/cgroup.procs"
fi
unshare --net --mount --uts --ipc --cgroup --pid --fork --kill-child --propagation private -- \
  "$0" --inside "$systemd" "$@" &
machine=$!
trap leave EXIT
trap 'exit 0' TERM INT
wait "$machine"
