"""A link between two network namespaces that behaves badly, since the kernel has no netem: two TUN interfaces, and a forwarder
between them that loses, delays, reorders and duplicates packets, limits their rate, and rewrites ports as a router does.

    with Link() as link:                       # this namespace is 10.78.0.1; another, VIEWER, is 10.78.0.2
        link.set(delay=0.025, loss=0.02)       # both directions, from now on
        link.set(rate=800_000, queue=50_000, only="down")
        link.rebind()                          # UDP of the viewer has other source ports from now on
        link.move()                            # the viewer has another address from now on
        browser = link.start(__file__, …)      # a script of Python at the viewer's end
        link.queue_delays()                    # [(time, seconds)] of the packets to the viewer since the last call

Needs a network namespace of its own, in which this process may do all (enter_own_network). The same seed makes the same random
numbers; what becomes of a packet depends on its number in its direction.
"""
import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import struct
import subprocess
import sys
import threading
import time

VIEWER, SERVER_ADDRESS, VIEWER_ADDRESS, NEXT_ADDRESS = "viewer", "10.78.0.1", "10.78.0.2", "10.78.0.3"
# linux/if_tun.h
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
PR_SET_PDEATHSIG = 1
UDP = 17


def enter_own_network():
    """Runs this script again in a network of its own, as root or as root of a user namespace."""
    if os.environ.get("VIDICON_OWN_NETWORK"):
        return
    as_root = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    os.execvpe("unshare", ["unshare", *as_root, "--net", "--mount", "--", sys.executable, *sys.argv],
               os.environ | {"VIDICON_OWN_NETWORK": "1"})


def kill(*processes):
    """Ends processes that have not ended."""
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait()


class Direction:
    """Packets of one direction: which of them are lost, dropped or duplicated, and when the others arrive."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        # Delay and jitter in seconds; shares of packets; bits per second and bytes of its queue.
        self.conditions = {"delay": 0.0, "jitter": 0.0, "loss": 0.0, "reordering": 0.0, "duplication": 0.0, "rate": None,
                           "queue": 250_000, "outage": False}
        self.busy_until = self.last_arrival = 0.0
        self.counts = {"sent": 0, "lost": 0, "dropped": 0, "bytes": 0}
        self.delays = []

    def arrivals(self, length, now):
        """Times at which a packet arrives: none, one, or two."""
        conditions = self.conditions
        # Always as many numbers, so that a change of one condition does not change what others do.
        loss, jitter, reordering, extra, duplication = (self.random.random() for _ in range(5))
        self.counts["sent"] += 1
        if conditions["outage"] or loss < conditions["loss"]:
            self.counts["lost"] += 1
            return []
        departure = now
        if conditions["rate"]:
            start = max(now, self.busy_until)
            if (start - now) * conditions["rate"] / 8 > conditions["queue"]:
                self.counts["dropped"] += 1
                return []
            departure = self.busy_until = start + length * 8 / conditions["rate"]
            self.delays.append((now, start - now))
        self.counts["bytes"] += length
        arrival = departure + conditions["delay"] + jitter * conditions["jitter"]
        if reordering < conditions["reordering"]:
            arrival += 0.005 + 0.025 * extra
        else:
            arrival = self.last_arrival = max(arrival, self.last_arrival)
        return [arrival, arrival + 0.003] if duplication < conditions["duplication"] else [arrival]


def open_tun(name):
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return device


def move_port(packet, offset, step):
    """Adds to the port of a UDP packet at an offset from its UDP header; IPv4 needs no checksum."""
    header = (packet[0] & 15) * 4
    if packet[0] >> 4 != 4 or packet[9] != UDP or len(packet) < header + 8:
        return packet
    packet = bytearray(packet)
    position = header + offset
    port = int.from_bytes(packet[position:position + 2], "big") + step
    packet[position:position + 2] = (port % 65_536).to_bytes(2, "big")
    packet[header + 6:header + 8] = b"\0\0"
    return bytes(packet)


def forward(near, far, seed):
    """Forwards until standard input ends. Each line of it is a command: JSON, see Link."""
    down, up = Direction(seed), Direction(seed + 1)
    # Arrivals: time, number, device, packet. Ports: step of source ports, and from when on.
    arrivals, count, step = [], 0, 0
    commands = sys.stdin.buffer
    while True:
        now = time.time()
        while arrivals and arrivals[0][0] <= now:
            _, _, device, packet = heapq.heappop(arrivals)
            try:
                os.write(device, packet)
            except OSError:
                pass  # An interface whose queue is full loses packets.
        ready = select.select([near, far, commands.fileno()], [], [], max(0, arrivals[0][0] - now) if arrivals else None)[0]
        now = time.time()
        for device in ready:
            if device == commands.fileno():
                line = commands.readline()
                if not line:
                    return
                command = json.loads(line)
                for name in command.get("only", ["down", "up"]):
                    {"down": down, "up": up}[name].conditions.update(command.get("set", {}))
                step += command.get("rebind", 0)
                print(json.dumps({"time": now, "delays": down.delays if command.get("read") else [],
                                  "down": down.counts, "up": up.counts}), flush=True)
                if command.get("read"):
                    down.delays = []
                continue
            direction, target = (down, far) if device == near else (up, near)
            for _ in range(64):
                try:
                    packet = os.read(device, 2048)
                except BlockingIOError:
                    break
                if step and device == far:
                    packet = move_port(packet, 0, step)
                elif step:
                    # To the ports of before: a router has forgotten them.
                    packet = move_port(packet, 2, -step)
                for arrival in direction.arrivals(len(packet), now):
                    count += 1
                    heapq.heappush(arrivals, (arrival, count, target, packet))


class Link:
    """The two namespaces, and the process that forwards between them."""

    def __init__(self, seed=1):
        self.seed = seed

    def __enter__(self):
        run = lambda *command: subprocess.run(["ip", *command], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
        devices = [open_tun(name) for name in ("near", "far")]
        run("link", "set", "lo", "up")
        run("netns", "add", VIEWER)
        run("link", "set", "far", "netns", VIEWER)
        for entry, name, own, other in (
                ([], "near", SERVER_ADDRESS, VIEWER_ADDRESS), (["-n", VIEWER], "far", VIEWER_ADDRESS, SERVER_ADDRESS)):
            run(*entry, "link", "set", "lo", "up")
            run(*entry, "link", "set", name, "mtu", "1500", "txqueuelen", "10000", "up")
            run(*entry, "address", "add", own, "peer", other, "dev", name)
            # By which browsers find their own address.
            run(*entry, "route", "add", "default", "dev", name)
        read, write = os.pipe()
        result, output = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            self.run_forwarder(devices, read, write, result, output)
        for descriptor in (read, output, *devices):
            os.close(descriptor)
        self.commands, self.results = os.fdopen(write, "w"), os.fdopen(result)
        self.lock = threading.Lock()
        return self

    def run_forwarder(self, devices, read, write, result, output):
        try:
            # The forwarder ends with this script, and is on time beside browsers where it may be.
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, 9)
            try:
                os.nice(-15)
            except OSError:
                pass
            os.close(write)
            os.close(result)
            os.dup2(read, 0)
            os.dup2(output, 1)
            forward(*devices, self.seed)
        finally:
            os._exit(0)

    def __exit__(self, *_):
        self.commands.close()
        os.waitpid(self.process, 0)

    def command(self, **command):
        with self.lock:
            self.commands.write(json.dumps(command) + "\n")
            self.commands.flush()
            return json.loads(self.results.readline())

    def set(self, only=None, **conditions):
        """Changes conditions of both directions, or of one: "down" to the viewer, or "up"; returns the time of the change."""
        return self.command(set=conditions, **({"only": [only]} if only else {}))["time"]

    def rebind(self):
        """Gives the viewer's UDP other source ports, and forgets the ones of before; returns the time of the change."""
        return self.command(rebind=1000)["time"]

    def move(self):
        """Gives the viewer another address in place of its own, once; returns the time of the change."""
        run = lambda *command: subprocess.run(["ip", "-n", VIEWER, *command], check=True)
        run("address", "del", VIEWER_ADDRESS, "peer", SERVER_ADDRESS, "dev", "far")
        run("address", "add", NEXT_ADDRESS, "peer", SERVER_ADDRESS, "dev", "far")
        run("route", "replace", "default", "dev", "far")
        return time.time()

    def start(self, script, *arguments):
        """Starts a script of Python at the viewer's end, with pipes for its lines."""
        return subprocess.Popen(
            ["ip", "netns", "exec", VIEWER, sys.executable, os.path.abspath(script), *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def queue_delays(self):
        return self.command(read=True)["delays"]

    def counts(self):
        return self.command()
