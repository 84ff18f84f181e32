"""Viewers of HLS, against nginx with the same segments in files, and latency in a browser."""
import contextlib
import json
import pathlib
import shutil
import subprocess
import threading
import time
import urllib.request

from harness import (STREAM, TICKS, certificate, core, cpu_seconds, free_port, running, serving_seconds, thread_seconds, vidicon)
from report import row

NGINX = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log stderr emerg;
events {{ worker_connections 4096; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
  types {{ application/vnd.apple.mpegurl m3u8; video/mp2t ts; }}
  ssl_protocols TLSv1.3; ssl_certificate {certificate}; ssl_certificate_key {key};
  server {{
    listen 127.0.0.1:{http_port} backlog=4096; listen 127.0.0.1:{https_port} ssl http2; root {folder}/files;
  }}
}}
"""


def serving_modes(process):
    """Processor time of the threads that serve connections in user mode and in kernel mode, in seconds."""
    user = kernel = 0
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        if (task / "comm").read_text().startswith("NIO-ELT-1-#"):
            fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
            user, kernel = user + int(fields[11]), kernel + int(fields[12])
    return user / TICKS, kernel / TICKS


@contextlib.contextmanager
def nginx_with_files(settings):
    """nginx with the files that are put into its folder `live`, at `http_port`, and over TLS and HTTP/2 at `https_port`."""
    folder = (settings.tools / "nginx-files").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "files" / "live").mkdir(parents=True)
    file, key = certificate(settings)
    ports = {"http_port": free_port(), "https_port": free_port()}
    (folder / "conf").write_text(NGINX.format(folder=folder, certificate=file, key=key, **ports))
    with running("nginx", "-p", folder, "-c", folder / "conf") as nginx:
        nginx.live = folder / "files" / "live"
        nginx.http_port, nginx.https_port = ports.values()
        time.sleep(1)
        yield nginx


@contextlib.contextmanager
def serving(folder, segments):
    """A playlist in a folder that gets a segment each second, of some that repeat."""
    def add(number):
        (folder / f"{number}.ts").write_bytes(segments[number % len(segments)])
        first = max(0, number - 5)
        lines = ["#EXTM3U", "#EXT-X-VERSION:6", "#EXT-X-TARGETDURATION:1", f"#EXT-X-MEDIA-SEQUENCE:{first}"]
        lines += [line for i in range(first, number + 1) for line in ("#EXTINF:1.00000,", f"{i}.ts")]
        (folder / "part").write_text("\n".join(lines) + "\n")
        (folder / "part").rename(folder / "playlist.m3u8")

    ended = threading.Event()

    def add_each_second():
        number = 1
        while not ended.wait(1):
            add(number)
            number += 1

    add(0)
    thread = threading.Thread(target=add_each_second)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def playlist_and_segments(process):
    """The TS playlist of a stream, and its segments by name, in their order."""
    def get(name):
        with urllib.request.urlopen(f"http://127.0.0.1:{process.http_port}/live/{name}", timeout=10) as response:
            return response.read()

    playlist = get("playlist.m3u8")
    names = [line for line in playlist.decode().splitlines() if line and not line.startswith("#")]
    return playlist, {name: get(name) for name in names}


def watched(settings, process, viewers, processor_time):
    """Differences of processor times while viewers of HLS play, and the viewers' report."""
    with running(settings.tools / "hls_sink", process.http_port, "/live/playlist.m3u8", viewers, settings.seconds,
                 stdout=subprocess.PIPE) as sink:
        if sink.stdout.readline() != "ready\n":
            raise SystemExit("the viewers did not get ready")
        begin = processor_time(process)
        report = json.loads(sink.stdout.readline())
        return [end - start for start, end in zip(begin, processor_time(process))], report


def measure(settings):
    """500 and 1000 viewers of the TS playlist."""
    for viewers in (500, 1000):
        compare(settings, viewers)


def compare(settings, viewers):
    """Viewers of the TS playlist, each with a persistent connection: one playlist and one segment per second; nginx with such
    segments in files."""
    ours, theirs = [], []
    for _ in range(settings.rounds):
        with vidicon(settings, *STREAM) as process:
            time.sleep(2)
            times, report = watched(
                settings, process, viewers, lambda process: (serving_seconds(process), *serving_modes(process)))
            ours.append(times)
            _, segments = playlist_and_segments(process)
        with nginx_with_files(settings) as nginx, serving(nginx.live, list(segments.values())):
            (time_there,), their_report = watched(settings, nginx, viewers, lambda nginx: (cpu_seconds(nginx),))
            theirs.append(time_there)
    used, user, kernel = map(sum, zip(*ours))
    rate = report["bytes"] * 8 / viewers / settings.seconds / 1e6
    modes = f"{core(user, settings, settings.rounds)} in user mode, {core(kernel, settings, settings.rounds)} in the kernel"
    responses = (report["playlists"] + report["segments"]) / viewers / settings.seconds
    row(f"{viewers} keep-alive viewers of HLS in MPEG-TS, {rate:.1f} Mb/s and {responses:.1f} responses a second each; "
        "nginx with files",
        f"{core(used, settings, settings.rounds)} ({modes}); responses p50 {report['answerP50']} ms, p99 {report['answerP99']} ms",
        f"{core(sum(theirs), settings, settings.rounds)}; p99 {their_report['answerP99']} ms", f"{used / sum(theirs):.2f}",
        "1.50, 15% of a core, 0.9 segments a second",
        used <= 1.5 * sum(theirs) and used < 0.15 * settings.seconds * settings.rounds
        and report["segments"] >= 0.9 * viewers * settings.seconds)
    if not 0.9 < report["bytes"] / their_report["bytes"] < 1.1:
        print(f"  (unequal work: {report['bytes']} bytes against {their_report['bytes']})")


def loaded(port, name, seconds, requests=2000):
    """Processor time of a response while h2load requests the TS playlist and a segment in turn, over TLS and HTTP/2."""
    begin = seconds()
    addresses = [f"https://127.0.0.1:{port}/live/{file}" for file in ("playlist.m3u8", name)]
    report = subprocess.run(["h2load", "-n", str(requests), "-c", "20", "-m", "4", *addresses], check=True, capture_output=True,
                            text=True).stdout
    used = seconds() - begin
    if "Application protocol: h2\n" not in report or f" {requests} 2xx," not in report:
        raise RuntimeError(report)
    return used / requests


def measure_http2(settings):
    """CPU time of a response over TLS and HTTP/2, the TS playlist and its newest segment in turn; nginx with the same files."""
    file, key = certificate(settings)
    ours, theirs = [], []
    with vidicon(settings, *STREAM, "--https-port", "0", "--tls-cert", file, "--tls-key", key) as process:
        with nginx_with_files(settings) as nginx:
            for _ in range(settings.rounds):
                playlist_and_segments(process)
                # By then the playlist has all of its segments.
                time.sleep(7)
                playlist, segments = playlist_and_segments(process)
                name = list(segments)[-1]
                ours.append(loaded(process.https_port, name, lambda: serving_seconds(process)))
                (nginx.live / "playlist.m3u8").write_bytes(playlist)
                (nginx.live / name).write_bytes(segments[name])
                theirs.append(loaded(nginx.https_port, name, lambda: thread_seconds(nginx, "nginx")))
    ratio = sum(ours) / sum(theirs)
    row(f"processor time of a response over TLS and HTTP/2, the TS playlist of {len(playlist)} bytes and its newest segment of "
        f"{len(segments[name]) / 1e3:.0f} kB in turn; nginx with the same files",
        *(f"{1e6 * sum(each) / settings.rounds:.0f} µs" for each in (ours, theirs)), f"{ratio:.2f}", "1.50", ratio <= 1.5)


def measure_delay(settings):
    """Latency in Chromium, from the timecode strip: the web page's player, and hls.js with the TS playlist."""
    clients = pathlib.Path(__file__).parent.parent / "Tests/EndToEndTests/Clients"
    library = pathlib.Path(settings.video).parent / "hls.mjs"
    # With WebRTC the page plays that; hls.js is on a page of another origin.
    with vidicon(settings, "--source", "bars", *STREAM[2:], "--webrtc", "off", "--cors", "*") as process:
        address = f"http://127.0.0.1:{process.http_port}/live"
        for name, limit, command in (
                ("the web page (low latency)", 1.2, ["page_play.py", address, settings.tools, "--seconds", str(settings.seconds)]),
                ("hls.js and the TS playlist", 4.0, ["hls_play.py", "hlsjs", f"{address}/playlist.m3u8", "--library", library,
                                                    "--seconds", str(settings.seconds)])):
            output = subprocess.run(["python3", clients / command[0], *map(str, command[1:])], check=True, stdout=subprocess.PIPE)
            p50 = json.loads(output.stdout)["medianLatency"]
            row(f"capture to frame in Chromium: {name}", f"p50 {p50:.2f} s", "", "", f"{limit} s", p50 < limit)
