"""Pushes over a link that is too slow and to a server that is killed, and the latency that a publisher over RTMP gets."""
import bisect
import collections
import contextlib
import http.client
import json
import os
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import threading
import time
import urllib.request

from harness import STREAM, free_port, prepare_video, recorded_units, running, vidicon
from report import row

STREAM_BITRATE = 2_300_000
LINK_BITRATE = 1_000_000
CLIENTS = pathlib.Path(__file__).parent.parent / "Tests/EndToEndTests/Clients"
NGINX = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log stderr emerg;
load_module /usr/lib/nginx/modules/ngx_rtmp_module.so;
events {{ worker_connections 64; }}
rtmp {{ server {{ listen {port}; chunk_size 4096; application app {{ live on; wait_key on; }} }} }}
"""


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def prepare_nginx(settings, port):
    """The command that runs nginx with its RTMP module."""
    folder = (settings.tools / f"nginx-{port}").resolve()
    folder.mkdir(exist_ok=True)
    (folder / "conf").write_text(NGINX.format(folder=folder, port=port))
    return ["nginx", "-p", folder, "-c", folder / "conf"]


def lines_of(process):
    """Lines of the standard output of a process with the time of their arrival, which a thread appends to a list."""
    lines = []

    def read():
        for line in process.stdout:
            lines.append((time.monotonic(), line))

    threading.Thread(target=read, daemon=True).start()
    return lines


def wait_until(condition, seconds, name):
    end = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > end:
            raise SystemExit(f"{name}: not within {seconds} s")
        time.sleep(0.02)
    return result


class SlowLink:
    """The program with a stream on one host, and nginx on another one behind a link whose rate `tc` limits."""

    def __init__(self, settings, stack):
        hosts = stack.enter_context(running("bash", CLIENTS / "two_hosts.sh", stdout=subprocess.PIPE))
        if hosts.stdout.readline() != "ready\n":
            raise SystemExit("the network namespaces cannot be made")
        user = [] if os.getuid() == 0 else ["--user", "--preserve-credentials"]
        self.entry = ["nsenter", "--target", str(hosts.pid), "--net", "--mount", *user, "--"]
        self.stack, self.settings = stack, settings
        stack.enter_context(running(*self.entry, "ip", "netns", "exec", "stranger", *prepare_nginx(settings, 1935)))
        self.program = stack.enter_context(running(
            *self.entry, settings.program, "serve", "--json", "--rtsp-port", "0", "--http-port", "0", "--no-discovery",
            "--control", "machine", "--webrtc", "off", *STREAM, stdout=subprocess.PIPE))
        started = json.loads(self.program.stdout.readline())
        self.rtsp_port, self.http_port = started["rtspPort"], started["httpPort"]
        lines_of(self.program)
        poller = stack.enter_context(running(*self.entry, sys.executable, CLIENTS / "poll_pushes.py", self.http_port,
                                             self.program.pid, "stranger", stdout=subprocess.PIPE))
        self.polled = lines_of(poller)
        wait_until(lambda: self.polled, 10, "the state of pushes")
        # The program returns the memory that only its start has used after 3 s, and frames that are not needed after 4 s.
        time.sleep(12)

    def observations(self, begin, end=float("inf")):
        return [each for each in (json.loads(line) for _, line in list(self.polled)) if begin <= each["time"] < end]

    def wait_for(self, condition, seconds, name):
        """Waits until the push meets a condition; returns the observation."""
        begin = time.monotonic()

        def found():
            return next((each for each in self.observations(begin) if each["push"] and condition(each["push"])), None)

        return wait_until(found, seconds, name)

    def limit(self, rate):
        """Sets the rate of the link to the server, with a token bucket for one packet; `None` for a link without a limit. Returns
        the time."""
        limit = ["replace", "dev", "stranger", "root", "tbf", "rate", rate, "burst", "1600", "limit", "60kb"]
        command = [*self.entry, "tc", "qdisc", *(limit if rate else ["del", "dev", "stranger", "root"])]
        # There may be no limit.
        subprocess.run(command, check=bool(rate), stderr=None if rate else subprocess.DEVNULL)
        return time.monotonic()

    def push(self, *entries):
        subprocess.run([*self.entry, "curl", "-sS", "--fail", "-o", "/dev/null", "-X", "PUT", "-H",
                        "Content-Type: application/json", "-d", json.dumps({"pushes": list(entries)}),
                        f"http://127.0.0.1:{self.http_port}/api/streams/live/pushes"], check=True)

    def watch(self, viewers=20):
        """The report of viewers on the host of an owner, and the observations meanwhile."""
        with running(*self.entry, "ip", "netns", "exec", "owner", "env", "RTSP_HOST=10.77.1.1", self.settings.tools / "sink",
                          "tcp", "rtsp", self.rtsp_port, "live", viewers, self.settings.seconds, stdout=subprocess.PIPE) as sink:
            if sink.stdout.readline() != "ready\n":
                raise SystemExit("the viewers did not get ready")
            begin = time.monotonic()
            report = json.loads(sink.stdout.readline())
        return report, self.observations(begin)

    def delays(self):
        """Lines with a timestamp for each video packet that a player of nginx, on its host, receives."""
        player = self.stack.enter_context(running(
            *self.entry, "ip", "netns", "exec", "stranger", "stdbuf", "-oL", "ffprobe", "-v", "error", "-fflags", "nobuffer",
            "-select_streams", "v", "-show_entries", "packet=pts_time", "-of", "csv=p=0", "rtmp://127.0.0.1/app/key",
            stdout=subprocess.PIPE))
        return lines_of(player)


TARGET = {"url": "rtmp://10.77.2.2/app/key"}


def measure_push(settings):
    """A push that drops, then one that adapts, over a link of 1 Mb/s under a stream of 2.3 Mb/s."""
    with contextlib.ExitStack() as stack:
        link = SlowLink(settings, stack)
        measure_dropping(settings, link)
        rounds = [measure_adapting(link) for _ in range(settings.rounds)]
    report_adapting(rounds)


def measure_dropping(settings, link):
    alone, during, queues, growths = [], [], [], []
    for _ in range(settings.rounds):
        link.push()
        link.limit(None)
        report, before = link.watch()
        alone.append(report)
        link.limit("1mbit")
        link.push({**TARGET, "adaptive": False})
        link.wait_for(lambda push: push["framesDropped"] > 30, 60, "a push that drops")
        report, observed = link.watch()
        during.append(report)
        queues.append(max(each["push"]["queue"] for each in observed))
        growths.append((max(each["memory"] for each in observed) - max(each["memory"] for each in before)) / 1000)
    link.push()
    row("queue of a push that drops, over 1 Mb/s under 2.3 Mb/s", f"maximum {max(queues):.2f} s", "", "", "2 s", max(queues) <= 2)
    row("resident memory that it adds", f"{max(growths):.1f} MB", "", "", "5 MB", max(growths) <= 5)
    with_push, without = (max(report["jitterP99"] for report in reports) for reports in (during, alone))
    row("jitter of 20 viewers in the house beside it; without the push", f"p99 {with_push:.1f} ms", f"p99 {without:.1f} ms", "",
        "p99 10 ms, or 3 ms more than without", with_push <= max(10, without + 3))


def measure_adapting(link):
    """A link that falls to 1 Mb/s while a push that adapts sends, keeps that for 70 s, and is wide again."""
    link.limit(None)
    link.push({**TARGET, "adaptive": True})
    link.wait_for(lambda push: push["state"] == "sending" and push["bytesSent"] > 100_000, 20, "a push that sends")
    player = link.delays()
    wait_until(lambda: len(player) > 60, 20, "a player of the server")
    begin = time.monotonic()
    time.sleep(3)
    before = link.observations(begin)
    stream = 8 * (before[-1]["linkBytes"] - before[0]["linkBytes"]) / (before[-1]["time"] - before[0]["time"])
    narrow = link.limit("1mbit")
    time.sleep(70)
    wide = link.limit(None)
    back = link.wait_for(lambda push: push["videoBitrate"] >= 0.95 * STREAM_BITRATE, 120, "95% of the bitrate")
    narrowed = link.observations(narrow, wide)
    below = next((each["time"] - narrow for each in narrowed
                  if each["push"]["ownEncoding"] and each["push"]["videoBitrate"] < 0.9 * LINK_BITRATE), float("inf"))
    constant = [each for each in narrowed if each["time"] >= wide - 60]
    bitrates = [each["push"]["videoBitrate"] for each in constant]
    sent = constant[-1]["linkBytes"] - constant[0]["linkBytes"]
    # The timestamps' distance from arrivals, whose minimum is that of the wide link.
    ages = []
    for arrival, line in list(player):
        with contextlib.suppress(ValueError):
            ages.append((arrival, arrival - float(line.strip().strip(","))))
    base = min(age for arrival, age in ages if begin <= arrival < narrow)
    result = {
        "below": below, "delay": max(age for arrival, age in ages if arrival >= narrow) - base,
        "queue": max(each["push"]["queue"] for each in link.observations(narrow)),
        "share": sent * 8 / (constant[-1]["time"] - constant[0]["time"]) / LINK_BITRATE,
        "changes": sum(one != other for one, other in zip(bitrates, bitrates[1:])), "back": back["time"] - wide,
        "reconnects": back["push"]["reconnects"],
    }
    link.push()
    print(f"  (before, {stream / 1e6:.1f} Mb/s passed; then the bitrates were "
          + ", ".join(f"{rate / 1e6:.2f} at {when - narrow:.1f} s" for when, rate in changes_of(link.observations(narrow - 1))) + ")")
    return result


def changes_of(observations):
    """Times and values of the changes of the bitrate of a push's own encoding, and of the return to the stream's."""
    changes = []
    for each in observations:
        if each["push"] and (not changes or changes[-1][1] != each["push"]["videoBitrate"]):
            changes.append((each["time"], each["push"]["videoBitrate"]))
    return changes


def report_adapting(rounds):
    def worst(name, choose=max):
        return choose(each[name] for each in rounds)

    row("time until a push that adapts is below 90% of a link that falls to 1 Mb/s", f"{worst('below'):.1f} s", "", "", "4 s",
        worst("below") <= 4)
    row("delay at a player of the server; age of what has not left", f"maximum {worst('delay'):.2f} s; {worst('queue'):.2f} s", "",
        "", "2.5 s", max(worst("delay"), worst("queue")) <= 2.5 and worst("reconnects") == 0)
    row("share of the constant link's rate that arrives, headers included, for 60 s", f"{worst('share', min):.0%}", "", "", "80%",
        worst("share", min) >= 0.8)
    row("changes of its bitrate in that minute", worst("changes"), "", "", "3", worst("changes") <= 3)
    row("time until 95% of the stream's bitrate once the link is wide again", f"{worst('back'):.1f} s", "", "", "30 s",
        worst("back") <= 30)


# MARK: Servers that are killed


class Player:
    """Packets of a stream of an RTMP server with their hashes, as ffprobe reads them, until it ends."""

    def __init__(self, stack, port):
        self.process = stack.enter_context(running(
            "stdbuf", "-oL", "ffprobe", "-v", "error", "-show_data_hash", "MD5", "-show_entries",
            "packet=codec_type,pts_time,data_hash", "-of", "csv=p=0", f"rtmp://127.0.0.1:{port}/app/key",
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL))
        self.lines = lines_of(self.process)

    def packets(self, kind):
        """Times in milliseconds by hash."""
        times = collections.defaultdict(list)
        for _, line in list(self.lines):
            fields = line.strip().split(",")
            if len(fields) >= 3 and fields[0] == kind:
                with contextlib.suppress(ValueError):
                    times[fields[2]].append(1000 * float(fields[1]))
        return times


def shift(packets, others, near=None):
    """Mean difference of the times of the same packets at two servers, in milliseconds. Audio frames that repeat within a second,
    such as silence, are left out."""
    shifts = []
    for digest, times in packets.items():
        known = others.get(digest, [])
        if not known or any(after - before <= 1000 for before, after in zip(known, known[1:])):
            continue
        for time_here in times:
            differences = [time_here - there for there in known]
            if near is not None:
                shifts.append(min(differences, key=lambda difference: abs(difference - near)))
            elif len(differences) == 1:
                shifts.append(differences[0])
    if len(shifts) < 20:
        raise SystemExit(f"only {len(shifts)} packets are the same at both servers")
    return statistics.mean(shifts)


def measure_kills(settings):
    """A server that is killed every 8 s, for up to a second, while another one goes on."""
    numbers, times, offsets = random.Random(1), [], []
    ports = free_port(), free_port()
    commands = [prepare_nginx(settings, port) for port in ports]
    folder = settings.tools / "pushes"
    folder.write_text("".join(f"rtmp://127.0.0.1:{port}/app/key\n" for port in ports))
    folder.chmod(0o600)
    with contextlib.ExitStack() as stack:
        stack.enter_context(running(*commands[0]))
        shaky = subprocess.Popen([str(part) for part in commands[1]], stdin=subprocess.DEVNULL)
        stack.callback(lambda: shaky.kill())
        program = stack.enter_context(running(
            settings.program, "serve", "--json", "--rtsp-port", "0", "--http-port", "0", "--no-discovery", "--bind", "127.0.0.1",
            "--control", "machine", "--webrtc", "off", *STREAM, "--push-file", folder, stdout=subprocess.PIPE))
        http_port = json.loads(program.stdout.readline())["httpPort"]
        lines_of(program)
        connection = http.client.HTTPConnection("127.0.0.1", http_port, timeout=10)

        def push(index=1):
            connection.request("GET", "/api/streams/live/pushes")
            return json.loads(connection.getresponse().read())["pushes"][index]

        for index in range(2):
            wait_until(lambda: push(index)["state"] == "sending" and push(index)["bytesSent"] > 0, 20, "two pushes")
        steady = Player(stack, ports[0])
        wait_until(lambda: len(steady.lines) > 100, 20, "a player of the server that goes on")
        for _ in range(settings.kills + 1):
            with contextlib.ExitStack() as connected:
                player = Player(connected, ports[1])
                wait_until(lambda: sum(map(len, player.packets("video").values())) > 90, 20, "a player after a kill")
                # Both have the same packets by now, or within this second.
                time.sleep(1)
                video = shift(player.packets("video"), steady.packets("video"))
                offsets.append(shift(player.packets("audio"), steady.packets("audio"), near=video) - video)
            if len(offsets) == settings.kills + 1:
                break
            time.sleep(2)
            shaky.kill()
            shaky.wait()
            wait_until(lambda: push()["state"] != "sending", 5, "the end of the connection")
            sent = push()["bytesSent"]
            time.sleep(numbers.uniform(0, 1))
            shaky = subprocess.Popen([str(part) for part in commands[1]], stdin=subprocess.DEVNULL)
            back = time.monotonic()
            wait_until(lambda: (now := push())["state"] == "sending" and now["bytesSent"] > sent, 30, "a new connection")
            times.append(time.monotonic() - back)
        dropped, reconnects = push(0)["framesDropped"], push(0)["reconnects"]
    row(f"{settings.kills} kills of a server that is back within a second: time until it gets media",
        f"p50 {percentile(times, 0.5):.2f} s, maximum {max(times):.2f} s", "", "", "1.5 s", max(times) <= 1.5)
    change = max(abs(offset - offsets[0]) for offset in offsets)
    row("change of the offset of audio and video at its players; offset from another server's",
        f"maximum {change:.2f} ms", f"maximum {max(map(abs, offsets)):.2f} ms", "", "1 ms",
        change <= 1 and max(map(abs, offsets)) <= 1)
    row("frames that the other server missed, and its new connections", f"{dropped}, {reconnects}", "", "", "0, 0",
        dropped == reconnects == 0)


# MARK: Publishers

KEY = "0123456789abcdef0123"


def slices_of(units):
    """Slice data of an access unit: its NAL units of types 1 and 5, joined."""
    return b"".join(unit for unit in units if unit and unit[0] & 0x1F in (1, 5))


def depacketize(packets):
    """NAL units of the packets of an access unit, RFC 6184."""
    units = []
    for packet in packets:
        kind = packet[0] & 0x1F
        if kind == 28:
            if packet[1] & 0x80:
                units.append(bytes([packet[0] & 0xE0 | packet[1] & 0x1F]))
            units[-1] += packet[2:]
        elif kind == 24:
            position = 1
            while position < len(packet):
                size = struct.unpack_from(">H", packet, position)[0]
                units.append(packet[position + 2:position + 2 + size])
                position += 2 + size
        else:
            units.append(packet)
    return units


def recorded_slices(recording, first):
    """Arrival times of the access units in a file of `record` by their slices, in seconds of the monotonic clock."""
    return {slices_of(depacketize(payloads)): (first + arrival) / 1e9 for arrival, payloads in recorded_units(recording)}


def read_annex_b(process, pieces):
    """Reads what a process writes, with the time of each piece's end."""
    total = 0
    while piece := os.read(process.stdout.fileno(), 1 << 20):
        total += len(piece)
        pieces.append((total, time.monotonic(), piece))


def published_slices(pieces):
    """Times at which the last bytes of access units were written, by their slices: each has one slice, as the file is encoded, and
    may be written several times, since the file repeats."""
    data = b"".join(piece for _, _, piece in pieces)
    ends = [end for end, _, _ in pieces]
    result, position = collections.defaultdict(list), data.find(b"\0\0\1")
    while position >= 0:
        following = data.find(b"\0\0\1", position + 3)
        # A start code of four bytes begins with one more zero, which is no part of the unit before it.
        end = len(data) if following < 0 else following - (data[following - 1] == 0)
        unit = data[position + 3:end]
        if unit and unit[0] & 0x1F in (1, 5) and following >= 0:
            result[unit].append(pieces[bisect.bisect_left(ends, end)][1])
        position = following
    return result


def prepare_published(settings):
    """Twenty seconds of 720p30 without B-frames, one slice a frame, for `-c copy`. In Matroska, whose codec tags suit FLV."""
    published = settings.tools / "published.mkv"
    if not published.exists():
        partial = settings.tools / "published.part.mkv"
        subprocess.run(
            ["ffmpeg", "-v", "error", "-y", "-i", prepare_video(settings), "-t", "20", "-r", "30", "-c:v", "libx264", "-preset", "veryfast", "-bf", "0",
             "-g", "60", "-threads", "1", "-slices", "1", "-b:v", "2300k", "-maxrate", "2300k", "-bufsize", "2300k", "-an",
             partial], check=True)
        partial.rename(published)
    return published


def measure_ingest(settings):
    """Access units from ffmpeg, which copies them from a file to RTMP, at a viewer over RTSP."""
    file, recording = prepare_published(settings), settings.tools / "ingest"
    # With audio ffmpeg holds each video packet until the next one of audio.
    options = ["--source", f"rtmp:?key={KEY}", "--audio", "none", "--pass-through", "on", "--size", "1280x720", "--fps", "30",
               "--rendition", "none", "--rtmp-port", "0"]
    pieces = []
    with vidicon(settings, *options) as process:
        # ffmpeg writes each packet to the pipe before it sends it.
        outputs = (f"[f=h264:flush_packets=1]pipe:1|"
                   f"[f=flv:flush_packets=1:flvflags=no_duration_filesize]rtmp://127.0.0.1:{process.rtmp_port}/live/{KEY}")
        with running("ffmpeg", "-nostdin", "-v", "error", "-re", "-stream_loop", "-1", "-i", file, "-map", "0:v", "-c", "copy",
                     "-flags", "+global_header", "-f", "tee", outputs, stdout=subprocess.PIPE, text=False) as publisher:
            threading.Thread(target=read_annex_b, args=(publisher, pieces), daemon=True).start()

            def is_passed_through():
                with urllib.request.urlopen(f"http://127.0.0.1:{process.http_port}/api/streams/live", timeout=10) as answer:
                    return json.loads(answer.read())["framesPassedThrough"] > 60

            wait_until(is_passed_through, 30, "the publisher's video")
            with running(settings.tools / "record", process.port, "live", settings.seconds, recording,
                         stdout=subprocess.PIPE) as viewer:
                first = int(viewer.stdout.readline())
    published, arrived = published_slices(list(pieces)), recorded_slices(recording, first)
    times = [1e3 * (arrival - max(sent)) for unit, arrival in arrived.items()
             if (sent := [each for each in published.get(unit, []) if each <= arrival])]
    if len(times) < 10 * settings.seconds:
        raise SystemExit(f"only {len(times)} access units of {len(arrived)} are those that ffmpeg sent")
    p99 = percentile(times, 0.99)
    row(f"an access unit from ffmpeg over RTMP to a viewer over RTSP, {len(times)} of them",
        f"p50 {percentile(times, 0.5):.2f} ms, p99 {p99:.2f} ms", "", "", "one frame: p99 33.3 ms", p99 <= 1000 / 30)
