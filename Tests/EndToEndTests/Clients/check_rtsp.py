"""An RTSP server of check_peer.py: a live stream of H.264 and AAC, healthy as MediaMTX is, or with one planted fault.

Each session begins within a group of frames, as with a server that passes on what a camera sends. Options of `Server` name the fault.
"""
import base64
import hashlib
import socket
import ssl
import struct
import subprocess
import threading
import time

USER, PASSWORD, REALM, NONCE = "viewer", "s3cret", "peer", "5d1f0c"
FRAME_RATE = 30
AUDIO_RATE = 48000


def access_units(data):
    """The NAL units of each access unit of a stream with access unit delimiters, Annex B."""
    units = [unit.rstrip(b"\0") for unit in data.split(b"\0\0\1")[1:]]
    frames = []
    for unit in units:
        if unit[0] & 31 == 9:
            frames.append([])
        else:
            frames[-1].append(unit)
    return frames


def audio_frames(data):
    """The frames of a stream of ADTS, without their headers."""
    frames, offset = [], 0
    while offset + 7 <= len(data):
        size = (data[offset + 3] & 3) << 11 | data[offset + 4] << 3 | data[offset + 5] >> 5
        frames.append(data[offset + 7:offset + size])
        offset += size
    return frames


class Media:
    """Twenty seconds of video and audio."""

    def __init__(self, keyframe_interval, pixel_format="yuv420p"):
        ffmpeg = ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi"]
        video = ffmpeg + ["-i", f"testsrc2=s=320x180:r={FRAME_RATE}:d=20", "-c:v", "libx264", "-preset", "ultrafast"]
        video += ["-tune", "zerolatency", "-pix_fmt", pixel_format, "-g", str(keyframe_interval), "-bf", "0"]
        video += ["-x264-params", "slices=1:sliced-threads=0:scenecut=0", "-bsf:v", "h264_metadata=aud=insert"]
        audio = ffmpeg + ["-i", f"sine=1000:r={AUDIO_RATE}:d=20", "-c:a", "aac", "-ac", "1", "-f", "adts", "-"]
        self.video = access_units(subprocess.run(video + ["-f", "h264", "-"], check=True, stdout=subprocess.PIPE).stdout)
        self.audio = audio_frames(subprocess.run(audio, check=True, stdout=subprocess.PIPE).stdout)
        first = self.video[0]
        self.sps = next(unit for unit in first if unit[0] & 31 == 7)
        self.pps = next(unit for unit in first if unit[0] & 31 == 8)


class Server:
    """Accepts connections until the process ends.

    - audio: whether there is a second track
    - login: the schemes that are offered: basic, digest, unknown
    - fault: what is wrong; None for a healthy server
    """

    def __init__(self, fault=None, audio=False, login=(), certificate=None):
        self.fault, self.audio, self.login = fault, audio, login
        interval = {"rare-keyframes": 12 * FRAME_RATE}.get(fault, FRAME_RATE)
        self.media = Media(interval, {"chroma": "yuv422p"}.get(fault, "yuv420p"))
        self.context = None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*certificate)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection = self.listener.accept()[0]
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            Connection(self, connection).run()
        except (OSError, ValueError):
            pass
        finally:
            connection.close()

    def description(self):
        parameters = "packetization-mode=1"
        if self.fault != "no-parameter-sets":
            sets = ",".join(base64.b64encode(unit).decode() for unit in (self.media.sps, self.media.pps))
            parameters += f";profile-level-id={self.media.sps[1:4].hex()};sprop-parameter-sets={sets}"
        lines = ["v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=Stream", "c=IN IP4 0.0.0.0", "t=0 0"]
        if self.fault != "no-media":
            lines += ["m=video 0 RTP/AVP 96", "a=rtpmap:96 H264/90000", f"a=fmtp:96 {parameters}", "a=control:trackID=0"]
        if self.audio:
            lines += ["m=audio 0 RTP/AVP 97", f"a=rtpmap:97 mpeg4-generic/{AUDIO_RATE}/1", "a=control:trackID=1"]
            lines += ["a=fmtp:97 profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=1188"]
        return "".join(line + "\r\n" for line in lines)


class Connection:
    def __init__(self, server, connection):
        self.server, self.socket, self.lock = server, connection, threading.Lock()
        self.outputs, self.playing = {}, False

    def run(self):
        if self.server.fault == "silent":
            while self.socket.recv(4096):
                pass
            return
        data = b""
        while True:
            piece = self.socket.recv(4096)
            if not piece:
                return
            data += piece
            while data:
                if data[0] == 0x24:
                    if len(data) < 4 or len(data) < 4 + struct.unpack(">H", data[2:4])[0]:
                        break
                    data = data[4 + struct.unpack(">H", data[2:4])[0]:]
                    continue
                head, separator, rest = data.partition(b"\r\n\r\n")
                if not separator:
                    break
                lines = head.decode("latin-1").split("\r\n")
                headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
                length = int(headers.get("content-length", 0))
                if len(rest) < length:
                    break
                data = rest[length:]
                method, url = lines[0].split(" ")[:2]
                if not self.handle(method, url, headers):
                    return

    def respond(self, headers, status="200 OK", fields=(), body=""):
        lines = [f"RTSP/1.0 {status}", f"CSeq: {headers.get('cseq', 0)}", "Server: gortsplib", *fields]
        if body:
            lines += ["Content-Type: application/sdp", f"Content-Length: {len(body)}"]
        with self.lock:
            self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n" + body).encode())
        return True

    def is_allowed(self, method, headers):
        login = headers.get("authorization", "")
        if login.startswith("Basic ") and "basic" in self.server.login:
            return base64.b64decode(login[6:]).decode() == f"{USER}:{PASSWORD}"
        if login.startswith("Digest ") and "digest" in self.server.login:
            fields = dict(part.strip().split("=", 1) for part in login[7:].split(","))
            fields = {name: value.strip('"') for name, value in fields.items()}
            md5 = lambda text: hashlib.md5(text.encode()).hexdigest()
            first, second = md5(f"{USER}:{REALM}:{PASSWORD}"), md5(f"{method}:{fields['uri']}")
            return fields.get("response") == md5(f"{first}:{NONCE}:{second}")
        return False

    def handle(self, method, url, headers):
        fault = self.server.fault
        if method == "OPTIONS":
            methods = "DESCRIBE, ANNOUNCE, SETUP, PLAY, RECORD, PAUSE, GET_PARAMETER, TEARDOWN"
            return self.respond(headers, fields=[f"Public: {methods}"])
        if self.server.login and method == "DESCRIBE" and not self.is_allowed(method, headers):
            challenges = {
                "digest": f'Digest realm="{REALM}", nonce="{NONCE}"', "basic": f'Basic realm="{REALM}"',
                "unknown": f'Digest realm="{REALM}", nonce="{NONCE}", algorithm=SHA-512-256',
            }
            fields = [f"WWW-Authenticate: {challenges[scheme]}" for scheme in self.server.login]
            return self.respond(headers, "401 Unauthorized", fields)
        if method == "DESCRIBE":
            if not url.rstrip("/").endswith("/live"):
                return self.respond(headers, "404 Not Found")
            return self.respond(headers, fields=[f"Content-Base: {url}/"], body=self.server.description())
        if method == "SETUP":
            return self.set_up(url, headers)
        if method == "PLAY":
            self.respond(headers, fields=["Session: 7A3C;timeout=60", "Range: npt=0.000-"])
            self.playing = True
            threading.Thread(target=self.send, daemon=True).start()
            return True
        if method == "TEARDOWN":
            self.playing = False
            self.respond(headers)
            return False
        # A request that keeps the session.
        if fault == "not-found-session":
            return self.respond(headers, "454 Session Not Found")
        return self.respond(headers, fields=["Session: 7A3C;timeout=60"])

    def set_up(self, url, headers):
        track = int(url.rstrip("/")[-1])
        transport = headers["transport"]
        fault = self.server.fault
        if "interleaved" in transport:
            if fault == "no-tcp":
                return self.respond(headers, "461 Unsupported Transport")
            channel = 2 * track
            self.outputs[track] = lambda packet, is_rtcp: self.send_interleaved(channel + is_rtcp, packet)
            answer = f"RTP/AVP/TCP;unicast;interleaved={channel}-{channel + 1};ssrc=0000000{track}"
        elif fault == "no-udp":
            return self.respond(headers, "461 Unsupported Transport")
        else:
            ports = transport.split("client_port=")[1].split(";")[0].split("-")
            sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in ports]
            for end in sockets:
                end.bind(("127.0.0.1", 0))
            numbers = [end.getsockname()[1] for end in sockets]
            if fault == "drops-udp":
                self.outputs[track] = lambda packet, is_rtcp: None
            else:
                self.outputs[track] = lambda packet, is_rtcp: sockets[is_rtcp].sendto(
                    packet, ("127.0.0.1", int(ports[is_rtcp])))
            answer = f"RTP/AVP;unicast;client_port={'-'.join(ports)};server_port={numbers[0]}-{numbers[1]};ssrc=0000000{track}"
        return self.respond(headers, fields=["Session: 7A3C;timeout=60", f"Transport: {answer}"])

    def send_interleaved(self, channel, packet):
        with self.lock:
            self.socket.sendall(struct.pack(">cBH", b"$", channel, len(packet)) + packet)

    def send(self):
        """Sends each frame at its time, and a sender report of each track every five seconds."""
        try:
            tracks = [Track(self, 0, 96, 90000, 90000 // FRAME_RATE, len(self.server.media.video))]
            if 1 in self.outputs:
                tracks.append(Track(self, 1, 97, AUDIO_RATE, 1024, len(self.server.media.audio)))
            tracks = [track for track in tracks if track.number in self.outputs]
            start = time.monotonic()
            while self.playing:
                track = min(tracks, key=lambda track: track.due)
                wait = start + track.due - time.monotonic()
                if wait > 0:
                    time.sleep(wait)
                if self.server.fault == "close-after-play" and track.due > 1:
                    self.socket.shutdown(socket.SHUT_RDWR)
                    return
                track.send_next()
        except OSError:
            pass


class Track:
    """A track of a session: its packets and their times."""

    def __init__(self, connection, number, payload_type, clock_rate, step, count):
        self.output, self.number, self.payload_type = connection.outputs.get(number), number, payload_type
        self.clock_rate, self.step, self.count = clock_rate, step, count
        self.media, self.fault = connection.server.media, connection.server.fault
        self.index, self.sequence, self.packets, self.octets, self.next_report = 0, 1000 * number, 0, 0, 0.0
        # Within a group of frames.
        self.offset = FRAME_RATE // 2 if number == 0 and self.fault not in ("rare-keyframes", "drops-udp") else 0
        self.skew = 0.0

    @property
    def due(self):
        return self.index * self.step / self.clock_rate

    @property
    def timestamp(self):
        seconds = self.due
        if self.fault == "slow-timestamps":
            seconds /= 2
        elif self.fault == "still-timestamps":
            seconds = 0
        elif self.fault == "jumping-timestamps" and self.number == 0:
            seconds += 10 * (int(self.due) // 4)
        return int((seconds + 100) * self.clock_rate) & 0xFFFFFFFF

    def send_next(self):
        is_silent = self.fault == ("silent-audio" if self.number else "silent-video")
        if not is_silent:
            if self.due >= self.next_report and self.packets:
                self.report()
            frame = (self.media.audio if self.number else self.media.video)[(self.index + self.offset) % self.count]
            if self.number:
                self.packet(struct.pack(">HH", 16, len(frame) << 3) + frame, True)
            else:
                self.send_video(frame)
        self.index += 1

    def send_video(self, units):
        if self.fault == "no-parameter-sets":
            units = [unit for unit in units if unit[0] & 31 not in (7, 8)]
        for unit in units:
            last = unit is units[-1]
            if len(unit) <= 1400:
                self.packet(unit, last)
                continue
            pieces = [unit[offset:offset + 1400] for offset in range(1, len(unit), 1400)]
            for position, piece in enumerate(pieces):
                flags = (0x80 if position == 0 else 0) | (0x40 if position == len(pieces) - 1 else 0)
                head = bytes([unit[0] & 0xE0 | 28, flags | unit[0] & 31])
                self.packet(head + piece, last and position == len(pieces) - 1)

    def packet(self, payload, marker):
        self.sequence = self.sequence + 1 & 0xFFFF
        if self.fault == "loss" and self.sequence % 20 == 0:
            return
        head = struct.pack(">BBHII", 0x80, self.payload_type | (0x80 if marker else 0), self.sequence, self.timestamp, self.number)
        self.output(head + payload, False)
        self.packets, self.octets = self.packets + 1, self.octets + len(payload)

    def report(self):
        """A sender report, RFC 3550 §6.4.1, and a source description, as each compound packet has."""
        self.next_report = self.due + 2.5
        wall = time.time() + 2208988800 + self.skew
        if self.fault == "drifting-reports":
            self.skew += 3
        fields = (self.number, int(wall), int(wall % 1 * 2**32), self.timestamp, self.packets, self.octets)
        name = struct.pack(">BBHI", 0x81, 202, 3, self.number) + b"\1\4peer\0\0"
        self.output(struct.pack(">BBHIIIIII", 0x80, 200, 6, *fields) + name, True)
