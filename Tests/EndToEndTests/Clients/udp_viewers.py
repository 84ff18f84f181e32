"""Watches a stream over UDP as many viewers at once, and prints as JSON how many packets came, how many are missing between
the first and the last of each track, and how many viewers had both tracks.

usage: udp_viewers.py ADDRESS HTTP-PORT HTTPS-PORT RTSP-PORT VIEWERS SECONDS
"""
import json
import re
import select
import socket
import sys
import time


class Track:
    """The packets of one track: the extended sequence numbers that came."""

    def __init__(self):
        self.highest = None
        self.numbers = set()

    def receive(self, packet):
        number = int.from_bytes(packet[2:4], "big")
        if self.highest is None:
            self.highest = number
        # A veth interface reorders: a number is the one nearest to the highest so far.
        number = self.highest + ((number - self.highest + 0x8000) % 0x10000 - 0x8000)
        self.highest = max(self.highest, number)
        self.numbers.add(number)

    @property
    def missing(self):
        return max(self.numbers) - min(self.numbers) + 1 - len(self.numbers) if self.numbers else 0


class Viewer:
    """A session with both tracks over UDP."""

    def __init__(self, address, port):
        self.url = f"rtsp://{address}:{port}/live"
        self.connection = socket.create_connection((address, port), 10)
        self.unread = b""
        self.sequence = 0
        self.session = None
        self.tracks = {}
        self.sockets = []
        for control in re.findall(r"a=control:(trackID=\d+)", self.request("DESCRIBE", self.url)):
            rtp, rtcp = ports()
            self.sockets += [rtp, rtcp]
            self.tracks[rtp] = Track()
            port = rtp.getsockname()[1]
            self.request("SETUP", f"{self.url}/{control}", f"Transport: RTP/AVP;unicast;client_port={port}-{port + 1}\r\n")

    def request(self, method, url, headers=""):
        self.sequence += 1
        session = f"Session: {self.session}\r\n" if self.session else ""
        self.connection.sendall(f"{method} {url} RTSP/1.0\r\nCSeq: {self.sequence}\r\n{session}{headers}\r\n".encode())
        while b"\r\n\r\n" not in self.unread:
            self.read()
        head, self.unread = self.unread.split(b"\r\n\r\n", 1)
        head = head.decode()
        if not head.startswith("RTSP/1.0 200"):
            sys.exit(f"{method} {url}: {head}")
        session = re.search(r"(?im)^session: *([^;\r\n]+)", head)
        self.session = session[1] if session else self.session
        length = re.search(r"(?im)^content-length: *(\d+)", head)
        length = int(length[1]) if length else 0
        while len(self.unread) < length:
            self.read()
        body, self.unread = self.unread[:length], self.unread[length:]
        return body.decode()

    def read(self):
        data = self.connection.recv(65536)
        if not data:
            sys.exit("the server closed the connection")
        self.unread += data


def ports():
    """Sockets on an even port and the next one."""
    while True:
        rtp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        rtp.bind(("", 0))
        port = rtp.getsockname()[1]
        rtcp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            if port % 2 == 0:
                rtcp.bind(("", port + 1))
                rtp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
                rtp.setblocking(False)
                return rtp, rtcp
        except OSError:
            pass
        rtp.close()
        rtcp.close()


def main():
    address, _, _, port, count, seconds = sys.argv[1:]
    viewers = [Viewer(address, int(port)) for _ in range(int(count))]
    poll = select.epoll()
    sockets = {}
    for viewer in viewers:
        viewer.request("PLAY", viewer.url)
        for rtp, track in viewer.tracks.items():
            sockets[rtp.fileno()] = (rtp, track)
            poll.register(rtp.fileno(), select.EPOLLIN)
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        for descriptor, _ in poll.poll(0.2):
            rtp, track = sockets[descriptor]
            for _ in range(64):
                try:
                    track.receive(rtp.recv(2048))
                except BlockingIOError:
                    break
    tracks = [track for viewer in viewers for track in viewer.tracks.values()]
    print(json.dumps({
        "packets": sum(len(track.numbers) for track in tracks),
        "missing": sum(track.missing for track in tracks),
        "viewers": sum(all(track.numbers for track in viewer.tracks.values()) for viewer in viewers),
    }))


main()
