#!/usr/bin/env python3
"""Measures the built program against its peers in one run, and prints a table. Called by Benchmarks/run."""
import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
import urllib.request

import faces
import pushing
import seek
import webrtc

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(process):
    """Processor time of all threads of a process in user and kernel mode, in seconds."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_megabytes(process):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1000
    raise SystemExit("no VmRSS")


@contextlib.contextmanager
def running(*command, **options):
    options = {"stdin": subprocess.DEVNULL, "text": True} | options
    process = subprocess.Popen([str(part) for part in command], **options)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


@contextlib.contextmanager
def vidicon(settings, *options):
    with running(settings.program, "serve", "--json", "--rtsp-port", "0", "--http-port", "0", "--no-discovery", "--bind",
                 "127.0.0.1", *options, stdout=subprocess.PIPE) as process:
        started = json.loads(process.stdout.readline())
        process.port, process.http_port = started["rtspPort"], started["httpPort"]
        process.rtsps_port, process.rtmp_port = started.get("rtspsPort"), started.get("rtmpPort")
        process.url = f"rtsp://127.0.0.1:{process.port}/live"
        # Drains the status lines, which would fill the pipe; exits with the program.
        subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL)
        yield process


def cpu_while(process, seconds):
    begin = cpu_seconds(process)
    time.sleep(seconds)
    return cpu_seconds(process) - begin


@contextlib.contextmanager
def viewers_of(settings, transport, kind, port, viewers):
    """Viewers that all play; their report is the next line of output, after `settings.seconds`."""
    with running(settings.tools / "sink", transport, kind, port, "live", viewers, settings.seconds,
                 stdout=subprocess.PIPE) as sink:
        if sink.stdout.readline() != "ready\n":
            raise SystemExit("the viewers did not get ready")
        yield sink


def watched_by(settings, process, transport, kind, port, viewers):
    """Processor time of a process while viewers play its stream, in seconds, and the viewers' report."""
    with viewers_of(settings, transport, kind, port, viewers) as sink:
        begin = cpu_seconds(process)
        report = sink.stdout.readline()
        return cpu_seconds(process) - begin, json.loads(report)


def serving_seconds(process):
    """Processor time of the threads that serve connections, in seconds: what viewers cost, whatever the encoder does meanwhile."""
    return sum(thread_seconds(process, f"NIO-ELT-1-#{loop}") for loop in range(os.cpu_count() + 1))


def served_to(settings, process, transport, port, viewers):
    """Processor time of the serving threads while viewers play the stream, in seconds, and the viewers' report."""
    with viewers_of(settings, transport, "rtsp", port, viewers) as sink:
        begin = serving_seconds(process)
        report = sink.stdout.readline()
        return serving_seconds(process) - begin, json.loads(report)


def row(name, ours, theirs, ratio, limit, holds):
    print(f"| {name} | {ours} | {theirs} | {ratio} | {limit} | {'yes' if holds else 'NO'} |", flush=True)


def core(seconds, settings, rounds=1):
    return f"{100 * seconds / settings.seconds / rounds:.1f}% of a core"


def prepare_video(settings):
    """A minute of 720p30 with audio, looped from the short test video."""
    video = settings.tools / "720p30.mp4"
    if not video.exists():
        part = settings.tools / "part.mp4"
        subprocess.run(
            ["ffmpeg", "-v", "error", "-y", "-stream_loop", "-1", "-i", settings.video, "-t", "60", "-r", "30", "-ac", "2",
             "-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-c:a", "aac", "-b:a", "128k", part], check=True)
        part.rename(video)
    return video


def measure_encode(settings):
    """One 720p30 stream from a file with one viewer, against ffmpeg decoding and encoding the same."""
    video = prepare_video(settings)
    ours = theirs = 0.0
    for _ in range(settings.rounds):
        with running("ffmpeg", "-v", "error", "-re", "-stream_loop", "-1", "-i", video, "-c:v", "libx264", "-preset",
                     "veryfast", "-tune", "zerolatency", "-threads", "2", "-b:v", "2300k", "-maxrate", "2300k", "-bufsize",
                     "2300k", "-g", "60", "-bf", "0", "-sc_threshold", "0", "-c:a", "aac", "-b:a", "64k", "-f", "null",
                     "-") as ffmpeg:
            time.sleep(2)
            theirs += cpu_while(ffmpeg, settings.seconds)
        with vidicon(settings, "--source", f"file:{video}", "--bitrate", "2300k") as process:
            with running("ffmpeg", "-v", "error", "-rtsp_transport", "tcp", "-i", process.url, "-c", "copy", "-f", "null",
                         "-"):
                time.sleep(2)
                ours += cpu_while(process, settings.seconds)
    row("720p30 file, one viewer; ffmpeg with the same x264 settings", core(ours, settings, settings.rounds),
        core(theirs, settings, settings.rounds), f"{ours / theirs:.2f}", "1.10", ours <= 1.10 * theirs)


STREAM = ["--source", "plasma", "--audio", "tone", "--size", "1280x720", "--fps", "30", "--bitrate", "2300k"]


@contextlib.contextmanager
def passed_through(settings, *options):
    """A stream that another process encodes: serving alone is measured, not how much slower an encoder runs beside it."""
    with vidicon(settings, *STREAM) as origin:
        with vidicon(settings, "--source", origin.url, "--pass-through", "on", "--rendition", "none", *options) as process:
            yield process


def jitter(report):
    return f"p50 {report['jitterP50']:.1f} ms, p99 {report['jitterP99']:.1f} ms"


def age(report):
    """Age of frames when they arrive at viewers; the histogram of `sink` ends at 200 ms."""
    return f"p50 {report['ageP50']:.1f} ms, p99 {report['ageP99']:.1f} ms"


def measure_fan_out(settings, transport):
    """Many viewers of one stream, against a bare C loop that sends them the same bytes."""
    counts = [settings.viewers] if settings.viewers else {"tcp": (200, 500, 1000), "udp": (500,)}[transport]
    options = ["--rtsp-udp"] if transport == "udp" else []
    recording = settings.tools / "recording"
    with passed_through(settings, *options) as process:
        # Over TCP, audio leaves in the write of the next access unit; each track has its own UDP port.
        joined = ["joined"] if transport == "tcp" else []
        subprocess.run([settings.tools / "record", str(process.port), "live", "8", recording, *joined], check=True,
                       stdout=subprocess.DEVNULL)
        for viewers in counts:
            compare_fan_out(settings, process, transport, recording, viewers)


def compare_fan_out(settings, process, transport, recording, viewers):
    """A number of viewers of one stream, against a bare C loop that sends them a recording of it."""
    ours = theirs = idle = 0.0
    writes = recorded_writes(recording)
    for _ in range(settings.rounds):
        idle += cpu_while(process, settings.seconds)
        with running(settings.tools / f"{transport}_floor", recording, viewers, stdout=subprocess.PIPE) as floor:
            cpu, floor_report = watched_by(settings, floor, transport, "floor", floor.stdout.readline().strip(), viewers)
            theirs += cpu
        cpu, report = watched_by(settings, process, transport, "rtsp", process.port, viewers)
        ours += cpu
    rate = report["bytes"] * 8 / viewers / settings.seconds / 1e6
    ours -= idle
    limit = 1.25 if transport == "tcp" else 1.5
    row(f"{viewers} viewers over {transport.upper()}, {rate:.1f} Mb/s and {writes:.0f} sends a second each; a bare C loop",
        core(ours, settings, settings.rounds), core(theirs, settings, settings.rounds), f"{ours / theirs:.2f}", f"{limit:.2f}",
        ours <= limit * theirs)
    row(f"jitter of frames at {viewers} viewers over {transport.upper()}; of the bare C loop's", jitter(report),
        jitter(floor_report), "", "p99 10 ms" if transport == "tcp" and viewers <= 500 else "reported",
        transport != "tcp" or viewers > 500 or report["jitterP99"] <= 10)
    row(f"age of frames at {viewers} viewers over {transport.upper()}", age(report), "", "", "reported", True)
    if transport == "udp":
        row(f"datagrams lost by {viewers} viewers over UDP; by those of the bare C loop", report["lost"], floor_report["lost"], "",
            "reported", True)
    wanted = floor_report["bytes"]
    if not 0.9 < report["bytes"] / wanted < 1.1:
        print(f"  (unequal work: {report['bytes']} bytes against {wanted})")


NGINX = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log stderr emerg;
load_module /usr/lib/nginx/modules/ngx_rtmp_module.so;
events {{ worker_connections 4096; }}
rtmp {{ server {{ listen 127.0.0.1:{port}; chunk_size 65536; application live {{ live on; wait_key on; }} }} }}
"""


@contextlib.contextmanager
def nginx_with(settings, process):
    """nginx with its RTMP module, which a program sends the stream to; its port is `rtmp_port`."""
    folder = settings.tools / "nginx"
    folder.mkdir(exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "conf").write_text(NGINX.format(folder=folder.resolve(), port=port))
    with running("nginx", "-p", folder.resolve(), "-c", (folder / "conf").resolve()) as nginx:
        nginx.rtmp_port = port
        with running("ffmpeg", "-v", "error", "-rtsp_transport", "tcp", "-i", process.url, "-c", "copy", "-f", "flv",
                     f"rtmp://127.0.0.1:{port}/live/live"):
            time.sleep(3)
            yield nginx


def rtmp_watched(settings, process, kind, port, viewers):
    """Processor time of a process while RTMP viewers play its stream, in seconds, and the viewers' report."""
    with running(settings.tools / "rtmp_sink", kind, port, "live", viewers, settings.seconds, stdout=subprocess.PIPE) as sink:
        if sink.stdout.readline() != "ready\n":
            raise SystemExit("the viewers did not get ready")
        begin = cpu_seconds(process)
        report = sink.stdout.readline()
        return cpu_seconds(process) - begin, json.loads(report)


def measure_rtmp(settings):
    """RTMP viewers of a stream that another process encodes, against a bare C loop that sends the same, and against nginx."""
    recording = settings.tools / "rtmp_recording"
    with passed_through(settings, "--rtmp-port", "0") as process:
        time.sleep(2)
        subprocess.run([settings.tools / "rtmp_sink", "record", str(process.rtmp_port), "live", "8", recording], check=True)
        for viewers, limit in ((200, 0.10), (500, 0.23), (1000, 0.45)):
            ours = idle = bare = theirs = 0.0
            for _ in range(settings.rounds):
                idle += cpu_while(process, settings.seconds)
                with running(settings.tools / "tcp_floor", recording, viewers, stdout=subprocess.PIPE) as floor:
                    bare += rtmp_watched(settings, floor, "floor", floor.stdout.readline().strip(), viewers)[0]
                cpu, report = rtmp_watched(settings, process, "rtmp", process.rtmp_port, viewers)
                ours += cpu
                with nginx_with(settings, process) as nginx:
                    theirs += rtmp_watched(settings, nginx, "rtmp", nginx.rtmp_port, viewers)[0]
            ours -= idle
            rate = report["bytes"] * 8 / viewers / settings.seconds / 1e6
            name = f"{viewers} viewers over RTMP, {rate:.1f} Mb/s each"
            row(f"{name}; a bare C loop", core(ours, settings, settings.rounds), core(bare, settings, settings.rounds),
                f"{ours / bare:.2f}", f"1.25, {100 * limit:.0f}% of a core",
                ours <= 1.25 * bare and ours <= limit * settings.seconds * settings.rounds)
            row(f"{name}; nginx-rtmp", core(ours, settings, settings.rounds), core(theirs, settings, settings.rounds),
                f"{ours / theirs:.2f}", "1.00", ours <= theirs)
    with vidicon(settings, *STREAM, "--rtmp-port", "0") as process, nginx_with(settings, process) as nginx:
        ours, theirs = (
            sorted(map(float, subprocess.run([settings.tools / "rtmp_sink", "first", str(port), "live", "20", "700"], check=True,
                                             capture_output=True, text=True).stdout.split()))
            for port in (process.rtmp_port, nginx.rtmp_port))
    row("connect to the first 4 kB of a keyframe over RTMP, 20 times; nginx-rtmp",
        *(f"p50 {part(times, 0.5):.0f} ms, worst {times[-1]:.0f} ms" for times in (ours, theirs)), "", "p50 350 ms",
        part(ours, 0.5) <= 350)


def measure_rtsps(settings):
    """200 encrypted viewers against 200 plain ones of the same program, alternating."""
    viewers, ours, plain = 200, 0.0, 0.0
    certificate, key = settings.tools / "certificate.pem", settings.tools / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-keyout", key, "-out", certificate], check=True, stderr=subprocess.DEVNULL)
    with vidicon(settings, *STREAM, "--rtsps-port", "0", "--tls-cert", certificate, "--tls-key", key) as process:
        for _ in range(settings.rounds):
            cpu, plain_report = served_to(settings, process, "tcp", process.port, viewers)
            plain += cpu
            cpu, report = served_to(settings, process, "tls", process.rtsps_port, viewers)
            ours += cpu
    row(f"{viewers} viewers over RTSPS; over RTSP, both without the encoder", core(ours, settings, settings.rounds),
        core(plain, settings, settings.rounds), f"{ours / plain:.2f}", "2.50", ours <= 2.5 * plain)
    row(f"jitter of frames at {viewers} viewers over RTSPS; over RTSP", jitter(report), jitter(plain_report), "", "reported", True)
    row(f"age of frames at {viewers} viewers over RTSPS; over RTSP", age(report), age(plain_report), "", "reported", True)
    reads, plain_reads = (each["reads"] / viewers / settings.seconds for each in (report, plain_report))
    row("reads of one viewer over RTSPS, which are at most the writes; over RTSP", f"{reads:.0f} a second",
        f"{plain_reads:.0f} a second", "", "reported", True)


def measure_viewers(settings):
    """Cost of viewers over TCP by their number; the slope is the cost of one more, by least squares."""
    points = []
    with vidicon(settings, *STREAM) as process:
        for viewers in (1, 50, 200, 500, 1000, 2000):
            used, report = served_to(settings, process, "tcp", process.port, viewers)
            points.append((viewers, used / settings.seconds))
            rate = report["bytes"] * 8 / viewers / settings.seconds / 1e6
            row(f"{viewers} viewers over TCP, {rate:.1f} Mb/s each, without the encoder", core(used, settings),
                f"jitter {jitter(report)}; age {age(report)}", "", "", True)
    mean_viewers, mean_cores = (statistics.mean(values) for values in zip(*points))
    slope = (sum((viewers - mean_viewers) * (cores - mean_cores) for viewers, cores in points)
             / sum((viewers - mean_viewers) ** 2 for viewers, _ in points))
    # Cost that grows faster than the number of viewers is a fault; a fifth is noise.
    of_200, of_2000 = (cores / viewers for viewers, cores in points if viewers in (200, 2000))
    row("each further viewer over TCP; one of 2000, of 200", f"{100 * slope:.3f}% of a core",
        f"{100 * of_2000:.3f}%, {100 * of_200:.3f}%", f"{of_2000 / of_200:.2f}", "1.20", of_2000 <= 1.2 * of_200)


def measure_jitter(settings):
    """Arrival jitter at many viewers; that of a single viewer is caused by source, encoder and machine."""
    with vidicon(settings, *STREAM) as process:
        _, alone = watched_by(settings, process, "tcp", "rtsp", process.port, 1)
        _, report = watched_by(settings, process, "tcp", "rtsp", process.port, 200)
    row("jitter between frames, 200 viewers over TCP; one viewer", jitter(report), jitter(alone), "", "p99 10 ms",
        report["jitterP99"] < 10)


def measure_memory(settings):
    """Resident memory of the program alone, and what 1000 viewers that are connected and play add to it."""
    with vidicon(settings, *STREAM) as process:
        # The program returns the memory that only its start has used after 3 s, and frames that are not needed after 4 s.
        time.sleep(12)
        alone = resident_megabytes(process)
        with viewers_of(settings, "tcp", "rtsp", process.port, 1000) as sink:
            time.sleep(settings.seconds / 2)
            many = resident_megabytes(process)
            sink.stdout.readline()
    row("resident memory without viewers", f"{alone:.0f} MB", "", "", "60 MB", alone < 60)
    row("1000 viewers over TCP add to it", f"{many - alone:.0f} MB", f"{many:.0f} MB in all", "", "60 MB", many - alone < 60)


def measured(settings, mode, url, count):
    output = subprocess.run([settings.tools / "watch", mode, url, str(count)], check=True, capture_output=True, text=True)
    return sorted(float(line) for line in output.stdout.split())


def part(values, share):
    return values[min(len(values) - 1, int(share * len(values)))]


def measure_join(settings):
    with vidicon(settings, *STREAM) as process:
        time.sleep(3)
        times = measured(settings, "first", process.url, 20)
    p50, worst = part(times, 0.5), times[-1]
    row("connect to first decoded frame, 20 times", f"p50 {p50:.0f} ms, worst {worst:.0f} ms", "", "", "600 ms", worst < 600)
    # The encoder of another process makes no keyframe for a viewer of this one.
    with passed_through(settings) as process:
        time.sleep(3)
        cached, waited = (measured(settings, "first", process.url + query, 20) for query in ("?start=cached", ""))
    row("the same of a stream that is passed through, with `?start=cached`; without",
        *(f"p50 {part(times, 0.5):.0f} ms, worst {times[-1]:.0f} ms" for times in (cached, waited)), "", "p50 500 ms",
        part(cached, 0.5) < 500)


def measure_delay(settings):
    with vidicon(settings, "--source", "bars", *STREAM[2:]) as process:
        time.sleep(1)
        times = measured(settings, "delay", process.url, settings.seconds)
    if len(times) < 30:
        raise SystemExit(f"only {len(times)} timecode strips were read")
    row("capture to decoded frame over TCP on loopback", f"p50 {part(times, 0.5):.1f} ms, p99 {part(times, 0.99):.1f} ms",
        "", "", "reported", True)


def measure_rtmp_delay(settings):
    """Latency over RTMP, with a reader that decodes each frame as it comes."""
    with vidicon(settings, "--source", "bars", *STREAM[2:], "--rtmp-port", "0") as process:
        time.sleep(1)
        times = measured(settings, "delay", f"rtmp://127.0.0.1:{process.rtmp_port}/live/live", settings.seconds)
    if len(times) < 30:
        raise SystemExit(f"only {len(times)} timecode strips were read")
    row("capture to decoded frame over RTMP on loopback", f"p50 {part(times, 0.5):.1f} ms, p99 {part(times, 0.99):.1f} ms",
        "", "", "p50 25 ms", part(times, 0.5) <= 25)


UNIT_HEADER = struct.Struct("<qII")  # struct unit_header of Sources/units.h.


def recorded_writes(recording):
    """Units per second in a file of `record`: the writes of a viewer."""
    data, position, count, arrival = recording.read_bytes(), 0, 0, 0
    while position < len(data):
        arrival, length, _ = UNIT_HEADER.unpack_from(data, position)
        position += UNIT_HEADER.size + length
        count += 1
    return count / (arrival / 1e9)


def recorded_frames(recording):
    """RTP timestamps of the frames in a file of `record`, and arrival times, in seconds after the first unit."""
    data, position, frames = recording.read_bytes(), 0, []
    while position < len(data):
        arrival, length, track = UNIT_HEADER.unpack_from(data, position)
        position += UNIT_HEADER.size
        if track == 0:
            # Behind "$", channel and length, and the first four bytes of the RTP header.
            frames.append((struct.unpack_from(">I", data, position + 8)[0], arrival / 1e9))
        position += length
    return frames


def recorded_access_units(recording, first):
    """Arrival times of the access units in a file of `record` by their payload, in seconds of the monotonic clock."""
    data, position, units = recording.read_bytes(), 0, {}
    while position < len(data):
        arrival, length, track = UNIT_HEADER.unpack_from(data, position)
        position += UNIT_HEADER.size
        if track == 0:
            payload, packet = [], position
            while packet < position + length:
                size = struct.unpack_from(">H", data, packet + 2)[0]
                # Behind "$", channel and length: the RTP header without extension, RFC 3550 section 5.1.
                payload.append(data[packet + 16:packet + 4 + size])
                packet += 4 + size
            units[b"".join(payload)] = (first + arrival) / 1e9
        position += length
    return units


def measure_forward(settings):
    """Forwarding of an access unit, last byte in to last byte out: the same access units at a viewer of a stream, and at one of a
    second program that passes that stream through."""
    with vidicon(settings, *STREAM[:2], "--audio", "none", *STREAM[4:]) as origin:
        with vidicon(settings, "--source", origin.url, "--audio", "none", "--pass-through", "on", "--rendition",
                     "none") as process:
            time.sleep(3)
            files = [settings.tools / name for name in ("forward-in", "forward-out")]
            with contextlib.ExitStack() as stack:
                viewers = [stack.enter_context(running(settings.tools / "record", server.port, "live", settings.seconds, file,
                                                       stdout=subprocess.PIPE)) for server, file in zip((origin, process), files)]
                firsts = [int(viewer.stdout.readline()) for viewer in viewers]
                for viewer in viewers:
                    viewer.wait()
    arrived, forwarded = (recorded_access_units(file, first) for file, first in zip(files, firsts))
    times = sorted(1e3 * (forwarded[unit] - arrived[unit]) for unit in forwarded if unit in arrived)
    if len(times) < 10 * settings.seconds:
        raise SystemExit(f"only {len(times)} access units are the same at both viewers")
    p50, p99 = part(times, 0.5), part(times, 0.99)
    row(f"forwarding of an access unit, one viewer, {len(times)} of them", f"p50 {p50:.2f} ms, p99 {p99:.2f} ms", "", "",
        "p50 1 ms", p50 <= 1)


def measure_rendition(settings):
    """Processor time of a rendition of 640x360 beside 720p, scaling included, against that of the main one's encoder with all its
    threads; a film, whose frames are decoded by another thread and need no conversion."""
    video = prepare_video(settings)
    with vidicon(settings, "--source", f"file:{video}", "--size", "1280x720", "--bitrate", "2300k", "--pass-through", "off",
                 "--rendition", "name=low,size=640x360,bitrate=450k") as process:
        time.sleep(2)
        main = low = 0.0
        unused = thread_seconds(process, "rendition")
        for _ in range(settings.rounds):
            with running(settings.tools / "sink", "tcp", "rtsp", process.port, "live", 1, 4 * settings.seconds + 15,
                         stdout=subprocess.DEVNULL):
                # The same minute of the film in turn with the rendition and without, so that its scenes count for both.
                for _ in range(2):
                    time.sleep(2)
                    begin = thread_seconds(process, "video")
                    time.sleep(settings.seconds)
                    alone = thread_seconds(process, "video") - begin
                    with running(settings.tools / "sink", "tcp", "rtsp", process.port, "live/low", 1, settings.seconds + 3,
                                 stdout=subprocess.DEVNULL):
                        time.sleep(2)
                        begin = [thread_seconds(process, name) for name in ("video", "rendition")]
                        time.sleep(settings.seconds)
                        both, encoding = (thread_seconds(process, name) - before
                                          for name, before in zip(("video", "rendition"), begin))
                    main += alone
                    low += encoding + both - alone
            # Its encoder is closed 10 s after its last viewer.
            time.sleep(12)
    row("a rendition of 640x360 with its scaling; the 720p encode of the same film", core(low, settings, 2 * settings.rounds),
        core(main, settings, 2 * settings.rounds), f"{low / main:.2f}", "0.35", low <= 0.35 * main and unused == 0)


def measure_switch(settings):
    """Maximum timestamp step between frames at each source switch, at an RTSP viewer. The same in as many intervals
    without a switch shows the machine's share."""
    recording, count = settings.tools / "switches", settings.seconds
    with vidicon(settings, *STREAM) as process:
        time.sleep(2)
        with running(settings.tools / "record", process.port, "live", 2 * count + 2, recording,
                     stdout=subprocess.PIPE) as viewer:
            time.sleep(1)
            switches = []
            for number in range(count):
                body = json.dumps({"video": ("bars", "plasma")[number % 2]}).encode()
                request = urllib.request.Request(f"http://127.0.0.1:{process.http_port}/api/streams/live/source", body,
                                                 {"Content-Type": "application/json"}, method="PUT")
                begin = time.monotonic()
                urllib.request.urlopen(request, timeout=10).close()
                switches.append((begin, time.monotonic() + 0.1))
                time.sleep(max(0.0, begin + 2 - time.monotonic()))
            first = int(viewer.stdout.readline()) / 1e9
    frames = recorded_frames(recording)

    def maximum_step(begin, end):
        return max((after[0] - before[0] & 0xFFFFFFFF) / 90 for before, after in zip(frames, frames[1:])
                   if begin <= first + after[1] <= end)

    def text(gaps):
        return f"p50 {part(gaps, 0.5):.0f} ms, worst {gaps[-1]:.0f} ms"

    ours = sorted(maximum_step(begin, end) for begin, end in switches)
    others = sorted(maximum_step(begin + 0.9, end + 0.9) for begin, end in switches)
    limit = 2 * 1000 / 30
    row(f"between two frames of 30 a second at {count} switches of the source; between them", text(ours), text(others), "",
        f"two intervals: {limit:.0f} ms", ours[-1] < limit + 1)


MUX_ROUNDS = 20


def instructions(settings, program, *arguments):
    """Instructions of a run of a program, of all threads in user mode."""
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
               settings.tools / program, *arguments]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return int(re.search(r"I\s+refs:\s+([\d,]+)", report)[1].replace(",", ""))


def prepare_frames(settings):
    """A second of decoded 720p30, as I420."""
    frames = settings.tools / "720p30.yuv"
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", prepare_video(settings), "-frames:v", "30", "-pix_fmt", "yuv420p",
                    "-f", "rawvideo", frames], check=True)
    return frames


def measure_mux(settings):
    """Muxing a second of 720p30 with audio, against encoding it; each is the difference between two runs."""
    frames = prepare_frames(settings)
    reading, encoding = (instructions(settings, "mux", mode, frames) for mode in ("read", "encode"))
    for mode, name in (("ts", "MPEG-TS"), ("mp4", "fragmented MP4")):
        ours = (instructions(settings, "mux", mode, frames) - encoding) / MUX_ROUNDS
        theirs = encoding - reading
        row(f"muxing a second of 720p30 and audio as {name}; encoding it", f"{ours / 1e6:.2f} M instructions",
            f"{theirs / 1e6:.0f} M instructions", f"{ours / theirs:.2%}", "1%", ours <= 0.01 * theirs)


def measure_convert(settings):
    """Converting a frame to the encoder's format, against bare calls of libyuv: the difference of 100 frames and none."""
    for how, options in (("", []), (" and mirroring it", ["mirror"])):
        def frame(mode):
            none, hundred = (instructions(settings, "convert", mode, *options, count) for count in ("0", "100"))
            return (hundred - none) / 100
        ours, theirs = frame("canvas"), frame("libyuv")
        row(f"converting a YUYV frame of 720p{how}; libyuv alone", f"{ours / 1e3:.0f} k instructions",
            f"{theirs / 1e3:.0f} k instructions", f"{ours / theirs:.3f}", "1.2", ours <= 1.2 * theirs)


def measure_record(settings):
    """Recording a second of 720p30 with audio, including threads and files, against encoding it."""
    frames, film = prepare_frames(settings), settings.tools / "recorded.mp4"
    reading, encoding = (instructions(settings, "RecordingMeter", mode, frames) for mode in ("read", "encode"))
    theirs = encoding - reading
    ours = (instructions(settings, "RecordingMeter", "record", frames, film) - encoding) / MUX_ROUNDS
    film.unlink()
    row("recording a second of 720p30 and audio, finishing the file included; encoding it", f"{ours / 1e6:.2f} M instructions",
        f"{theirs / 1e6:.0f} M instructions", f"{ours / theirs:.2%}", "2%", ours <= 0.02 * theirs)


def measure_finish(settings):
    """Finishing an hour's recording as a progressive file, against a synced copy of it; and its cost, kernel included."""
    frames, film, copy = prepare_frames(settings), settings.tools / "recorded.mp4", settings.tools / "copy.mp4"
    ours = theirs = user = kernel = encoding = 0.0
    for _ in range(settings.rounds):
        output = subprocess.run([settings.tools / "RecordingMeter", "finish", frames, film], check=True, capture_output=True)
        report = json.loads(output.stdout)
        ours += report["seconds"]
        user += report["user"] / report["duration"]
        kernel += report["kernel"] / report["duration"]
        output = subprocess.run([settings.tools / "RecordingMeter", "cost", frames], check=True, capture_output=True)
        peer = json.loads(output.stdout)
        encoding += (peer["user"] + peer["kernel"]) / peer["seconds"]
        begin = time.monotonic()
        shutil.copyfile(film, copy)
        with open(copy, "rb") as file:
            os.fsync(file.fileno())
        theirs += time.monotonic() - begin
        copy.unlink()
        film.unlink()
    gigabytes = report["bytes"] / 1e9
    limit = theirs / settings.rounds + 2 * gigabytes
    row(f"finishing an hour's recording of {gigabytes:.2f} GB; copying it", f"{ours / settings.rounds:.2f} s",
        f"{theirs / settings.rounds:.2f} s", f"{ours / theirs:.2f}", f"copy + 2 s per GB: {limit:.2f} s", ours / settings.rounds <= limit)
    cost = user + kernel
    row("processor time for recording a second of 720p30 and audio, kernel included; encoding it",
        f"{1e6 * cost / settings.rounds:.0f} µs, of which {1e6 * kernel / settings.rounds:.0f} µs in the kernel",
        f"{1e6 * encoding / settings.rounds:.0f} µs", f"{cost / encoding:.2%}", "2%", cost <= 0.02 * encoding)


def measure_seek(settings):
    """Viewers that seek in many recordings, and what live viewers notice of them."""
    seek.measure(settings, row, vidicon, watched_by)


def measure_push(settings):
    """Pushes that drop and that adapt, over a link of 1 Mb/s under a stream of 2.3 Mb/s."""
    pushing.measure_push(settings, row, running)


def measure_push_kills(settings):
    """Time until a server that was killed gets media again, and synchrony of what it gets."""
    pushing.measure_kills(settings, row, running)


def measure_ingest(settings):
    """Latency from a publisher over RTMP to a viewer over RTSP, of a stream that is passed through."""
    pushing.measure_ingest(settings, row, vidicon, running, prepare_video(settings))


def serving_modes(process):
    """Processor time of the threads that serve connections in user mode and in kernel mode, in seconds."""
    user = kernel = 0
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        if (task / "comm").read_text().startswith("NIO-ELT-1-#"):
            fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
            user, kernel = user + int(fields[11]), kernel + int(fields[12])
    return user / TICKS, kernel / TICKS


NGINX_FILES = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log stderr emerg;
events {{ worker_connections 4096; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
  types {{ application/vnd.apple.mpegurl m3u8; video/mp2t ts; }}
  server {{ listen 127.0.0.1:{port} backlog=4096; root {folder}/files; }}
}}
"""


@contextlib.contextmanager
def nginx_with_files(settings, segments):
    """nginx with a playlist that gets a segment each second, of some that repeat; its port is `http_port`."""
    folder = (settings.tools / "nginx-files").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    files = folder / "files" / "live"
    files.mkdir(parents=True)
    for number, segment in enumerate(segments):
        (folder / f"{number}.ts").write_bytes(segment)

    def publish(number):
        os.link(folder / f"{number % len(segments)}.ts", files / f"{number}.ts")
        first = max(0, number - 5)
        lines = ["#EXTM3U", "#EXT-X-VERSION:6", "#EXT-X-TARGETDURATION:1", f"#EXT-X-MEDIA-SEQUENCE:{first}"]
        lines += [line for i in range(first, number + 1) for line in ("#EXTINF:1.00000,", f"{i}.ts")]
        (folder / "part").write_text("\n".join(lines) + "\n")
        (folder / "part").rename(files / "playlist.m3u8")

    ended = threading.Event()

    def publish_each_second():
        number = 1
        while not ended.wait(1):
            publish(number)
            number += 1

    publish(0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "conf").write_text(NGINX_FILES.format(folder=folder, port=port))
    publisher = threading.Thread(target=publish_each_second)
    publisher.start()
    try:
        with running("nginx", "-p", folder, "-c", folder / "conf") as nginx:
            nginx.http_port = port
            time.sleep(1)
            yield nginx
    finally:
        ended.set()
        publisher.join()


def hls_segments(process):
    """The segments of the TS playlist of a stream."""
    address = f"http://127.0.0.1:{process.http_port}/live"
    playlist = urllib.request.urlopen(f"{address}/playlist.m3u8").read().decode()
    names = [line for line in playlist.splitlines() if line and not line.startswith("#")]
    return [urllib.request.urlopen(f"{address}/{name}").read() for name in names]


def hls_watched(settings, process, viewers, processor_time):
    """Difference of a processor time while viewers of HLS play, and their report."""
    with running(settings.tools / "hls_sink", str(process.http_port), "/live/playlist.m3u8", str(viewers),
                 str(settings.seconds), stdout=subprocess.PIPE) as sink:
        if sink.stdout.readline() != "ready\n":
            raise SystemExit("the viewers did not get ready")
        begin = processor_time(process)
        report = json.loads(sink.stdout.readline())
        return [end - start for start, end in zip(begin, processor_time(process))], report


def measure_hls(settings):
    """1000 viewers of the TS playlist, each with a persistent connection: one playlist and one segment per second; nginx with
    such segments in files."""
    viewers = 1000
    with vidicon(settings, *STREAM) as process:
        time.sleep(2)
        (used, user, kernel), report = hls_watched(
            settings, process, viewers, lambda process: (serving_seconds(process), *serving_modes(process)))
        segments = hls_segments(process)
    theirs, their_report = None, None
    if shutil.which("nginx"):
        with nginx_with_files(settings, segments) as nginx:
            (theirs,), their_report = hls_watched(settings, nginx, viewers, lambda nginx: (cpu_seconds(nginx),))
    rate = report["bytes"] * 8 / viewers / settings.seconds / 1e6
    modes = f"{core(user, settings)} in user mode, {core(kernel, settings)} in the kernel"
    responses = (report["playlists"] + report["segments"]) / viewers / settings.seconds
    row(f"{viewers} keep-alive viewers of HLS in MPEG-TS, {rate:.1f} Mb/s and {responses:.1f} responses a second each; nginx with files",
        f"{core(used, settings)} ({modes}); answers p50 {report['answerP50']} ms, p99 {report['answerP99']} ms",
        f"{core(theirs, settings)}; p99 {their_report['answerP99']} ms" if theirs else "",
        f"{used / theirs:.2f}" if theirs else "", "15% of a core",
        used < 0.15 * settings.seconds and report["segments"] > 0.9 * viewers * settings.seconds)
    if theirs and not 0.9 < report["bytes"] / their_report["bytes"] < 1.1:
        print(f"  (unequal work: {report['bytes']} bytes against {their_report['bytes']})")


def measure_hls_delay(settings):
    """Latency in Chromium, from the timecode strip: the web page's player, and hls.js with the TS playlist."""
    clients = pathlib.Path(__file__).parent.parent / "Tests/EndToEndTests/Clients"
    library = pathlib.Path(settings.video).parent / "hls.mjs"
    with vidicon(settings, "--source", "bars", *STREAM[2:]) as process:
        address = f"http://127.0.0.1:{process.http_port}/live"
        for name, limit, command in (
                ("the web page (low latency)", 1.2, ["page_play.py", address, settings.tools, "--seconds", str(settings.seconds)]),
                ("hls.js and the TS playlist", 4.0, ["hls_play.py", "hlsjs", f"{address}/playlist.m3u8", "--library", library,
                                                    "--seconds", str(settings.seconds)])):
            output = subprocess.run(["python3", clients / command[0], *map(str, command[1:])], check=True, capture_output=True)
            p50 = json.loads(output.stdout)["medianLatency"]
            row(f"capture to frame in Chromium: {name}", f"p50 {p50:.2f} s", "", "", f"{limit} s", p50 < limit)


@contextlib.contextmanager
def x_server(size):
    """An Xvfb server with its name in `display`."""
    with running("Xvfb", "-displayfd", "1", "-screen", "0", f"{size}x24", "-noreset", stdout=subprocess.PIPE,
                 stderr=subprocess.DEVNULL) as server:
        server.display = ":" + server.stdout.readline().strip()
        yield server


def thread_seconds(process, name):
    """Processor time of the threads of a process with a name, in seconds."""
    total = 0
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        if (task / "comm").read_text().strip() == name:
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def measure_screen(settings):
    """Capture of a 1080p screen at 30 frames per second, still and with a video over all of it, against FFmpeg's x11grab.
    Both sides include the X server's time for copying."""
    for kind, limit in (("still", 0.02), ("moving", None)):
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(x_server("1920x1080"))
            if kind == "moving":
                environment = {**os.environ, "DISPLAY": server.display, "SDL_VIDEODRIVER": "x11"}
                stack.enter_context(running("ffplay", "-v", "error", "-noborder", "-left", "0", "-top", "0", "-f", "lavfi",
                                            "-i", "testsrc2=s=1920x1080:r=30", env=environment))
            time.sleep(3)
            shown = cpu_while(server, settings.seconds)
            with vidicon(settings, "--source", f"screen:{server.display}", "--audio", "none", "--size", "640x360", "--fps",
                         "30") as process:
                time.sleep(2)
                begin = thread_seconds(process, "screen"), cpu_seconds(process), cpu_seconds(server)
                time.sleep(settings.seconds)
                end = thread_seconds(process, "screen"), cpu_seconds(process), cpu_seconds(server)
            ours, whole, copying = (after - before for before, after in zip(begin, end))
            with running("ffmpeg", "-v", "error", "-f", "x11grab", "-framerate", "30", "-i", server.display, "-f", "null",
                         "-") as ffmpeg:
                time.sleep(2)
                begin = cpu_seconds(ffmpeg), cpu_seconds(server)
                time.sleep(settings.seconds)
                theirs, their_copying = cpu_seconds(ffmpeg) - begin[0], cpu_seconds(server) - begin[1]
        row(f"capture of a {kind} screen of 1080p30; FFmpeg's x11grab", core(ours + max(0, copying - shown), settings),
            core(theirs + max(0, their_copying - shown), settings),
            f"{(ours + max(0, copying - shown)) / max(theirs + their_copying - shown, 0.01):.2f}",
            f"{limit:.0%} of a core" if limit else "reported", limit is None or ours < limit * settings.seconds)
        print(f"  (the capture thread alone {core(ours, settings)}, the whole program, scaling to 640x360 and encoding,"
              f" {core(whole, settings)})")


def pattern(count):
    """Input values of the models, the same as those of the program `inference`."""
    return [(((index * 2_654_435_761) & 0xFFFFFFFF) >> 16 & 0xFF) / 255 for index in range(count)]


def litert(settings, model):
    """A function that runs a model once with LiteRT on one thread, and the outputs; None without LiteRT."""
    sys.path.insert(0, str(settings.tools / "litert"))
    try:
        import numpy
        from ai_edge_litert.interpreter import Interpreter
    except ImportError:
        return None
    interpreter = Interpreter(model_path=str(model), num_threads=1)
    interpreter.allocate_tensors()
    for port in interpreter.get_input_details():
        values = numpy.array(pattern(int(port["shape"].prod())), numpy.float32)
        interpreter.set_tensor(port["index"], values.reshape(port["shape"]))
    interpreter.invoke()
    outputs = [interpreter.get_tensor(port["index"]).ravel() for port in interpreter.get_output_details()]
    return interpreter.invoke, numpy.concatenate(outputs)


def measure_inference(settings):
    """Each face model on one thread, alternating with LiteRT: the minimum time, since other load can only add time,
    and the median."""
    models = pathlib.Path(os.environ.get("VIDICON_MODELS") or pathlib.Path(
        os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local/share") / "vidicon/models")
    with running(settings.tools / "inference", stdout=subprocess.PIPE, stdin=subprocess.PIPE) as process:
        def ask(runs, model):
            process.stdin.write(f"- {runs} {model}\n")
            process.stdin.flush()
            return [float(number) for number in process.stdout.readline().split()]

        for model in sorted(models.glob("*.tflite")):
            peer = litert(settings, model)
            ours, theirs = [], []
            for _ in range(20):
                ours += ask(20, model)
                for _ in range(20 if peer else 0):
                    begin = time.perf_counter()
                    peer[0]()
                    theirs.append(time.perf_counter() - begin)

            def text(times):
                return f"{1e3 * min(times):.2f} ms, median {1e3 * statistics.median(times):.2f}"

            if not peer:
                row(f"{model.stem}; LiteRT is not installed", text(ours), "", "", "1.30", True)
                continue
            error = max(abs(one - other) for one, other in zip(ask(0, model), peer[1]))
            ratio = min(ours) / min(theirs)
            row(f"{model.stem}; LiteRT", text(ours), text(theirs), f"{ratio:.2f}", "1.30",
                ratio <= 1.3 and error <= 1e-4 * float(peer[1].max() - peer[1].min()))


def measure_faces(settings):
    """Quality and cost of face detection and tracking."""
    faces.measure_quality(settings, row)
    faces.measure_cost(settings, row)


def measure_privacy(settings):
    """Faces that privacy mode shows: in films, then in 20,000 frames of composed scenes that the program has recorded."""
    faces.measure_privacy(settings, row)
    scenes = pathlib.Path(__file__).parent / "privacy.py"
    # Debian's Python has OpenCV.
    # At 15 frames per second the search has the time that it needs on two cores.
    options = ["--rate", "15", "--every", "30"]
    subprocess.run(
        ["/usr/bin/python3", scenes, "--program", settings.program, "--media", faces.MEDIA, *options], check=True)


def measure_webrtc(settings):
    """WebRTC viewers of a stream that another process encodes, against a bare C loop that seals and sends the same packets."""
    with passed_through(settings, "--webrtc-port", "0") as process:
        webrtc.measure_fan_out(settings, row, running, process, cpu_seconds, resident_megabytes)


def measure_webrtc_join(settings):
    """WebRTC viewers that come at once and one by one, and what offer, checks and DTLS cost."""
    with vidicon(settings, *STREAM, "--webrtc-port", "0") as process:
        webrtc.measure_join(settings, row, running, process, serving_seconds)


MEASUREMENTS = {
    "encode": measure_encode,
    "mux": measure_mux,
    "convert": measure_convert,
    "record": measure_record,
    "finish": measure_finish,
    "seek": measure_seek,
    "hls": measure_hls,
    "hlsdelay": measure_hls_delay,
    "rtmp": measure_rtmp,
    "rtmpdelay": measure_rtmp_delay,
    "push": measure_push,
    "pushkills": measure_push_kills,
    "ingest": measure_ingest,
    "tcp": lambda settings: measure_fan_out(settings, "tcp"),
    "udp": lambda settings: measure_fan_out(settings, "udp"),
    "webrtc": measure_webrtc,
    "webrtcjoin": measure_webrtc_join,
    "rtsps": measure_rtsps,
    "viewers": measure_viewers,
    "jitter": measure_jitter,
    "memory": measure_memory,
    "forward": measure_forward,
    "rendition": measure_rendition,
    "screen": measure_screen,
    "join": measure_join,
    "delay": measure_delay,
    "switch": measure_switch,
    "inference": measure_inference,
    "faces": measure_faces,
    "privacy": measure_privacy,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MEASUREMENTS))
    parser.add_argument("--program", required=True)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--video", required=True)
    parser.add_argument("--viewers", type=int, help="number of viewers of tcp, udp and webrtc: 200, 500 and 1000, 500, and 500, without it")
    parser.add_argument("--seconds", type=int, default=15, help="duration of each measurement")
    parser.add_argument("--kills", type=int, default=20, help="number of times that pushkills kills a server")
    parser.add_argument("--rounds", type=int, default=2, help="number of times each side runs, alternating")
    settings = parser.parse_args()
    for name in settings.names:
        if name not in MEASUREMENTS:
            parser.error(f"there is no measurement {name}")
    print("| measured | Vidicon | against | ratio | limit | holds |\n|---|---|---|---|---|---|", flush=True)
    for name in settings.names or MEASUREMENTS:
        MEASUREMENTS[name](settings)


main()
