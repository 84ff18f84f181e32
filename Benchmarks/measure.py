#!/usr/bin/env python3
"""Measures the built program against its peers in one run, and prints a table. Called by Benchmarks/run."""
import argparse
import contextlib
import json
import os
import pathlib
import re
import subprocess
import time

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(process):
    """The processor time that a running process has used, of all its threads, in user and kernel mode."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_megabytes(process):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1000
    raise SystemExit("no VmRSS")


@contextlib.contextmanager
def running(*command, **options):
    process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, text=True, **options)
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
        process.url = f"rtsp://127.0.0.1:{process.port}/live"
        # Its status lines must not fill the pipe; this ends with it.
        subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL)
        yield process


def cpu_while(process, seconds):
    begin = cpu_seconds(process)
    time.sleep(seconds)
    return cpu_seconds(process) - begin


def watched_by(settings, process, transport, kind, port, viewers):
    """Lets many viewers watch; the processor time of the watched process meanwhile, and what the viewers say."""
    with running(settings.tools / "sink", transport, kind, port, "live", viewers, settings.seconds,
                 stdout=subprocess.PIPE) as sink:
        if sink.stdout.readline() != "ready\n":
            raise SystemExit("the viewers did not get ready")
        begin = cpu_seconds(process)
        report = sink.stdout.readline()
        return cpu_seconds(process) - begin, json.loads(report)


def row(what, ours, theirs, ratio, limit, holds):
    print(f"| {what} | {ours} | {theirs} | {ratio} | {limit} | {'yes' if holds else 'NO'} |", flush=True)


def core(seconds, settings, rounds=1):
    return f"{100 * seconds / settings.seconds / rounds:.1f}% of a core"


def prepare_video(settings):
    """A minute of 720p30 with sound, out of the short test video."""
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


def measure_fan_out(settings, transport):
    """Many viewers of one stream, against a bare C loop that sends them the same bytes."""
    viewers = settings.viewers
    options = STREAM + (["--rtsp-udp"] if transport == "udp" else [])
    ours = theirs = idle = 0.0
    recording = settings.tools / "recording"
    with vidicon(settings, *options) as process:
        subprocess.run([settings.tools / "record", str(process.port), "live", "8", recording], check=True)
        for _ in range(settings.rounds):
            idle += cpu_while(process, settings.seconds)
            with running(settings.tools / f"{transport}_floor", recording, viewers, stdout=subprocess.PIPE) as floor:
                cpu, floor_report = watched_by(settings, floor, transport, "floor", floor.stdout.readline().strip(), viewers)
                theirs += cpu
            cpu, report = watched_by(settings, process, transport, "rtsp", process.port, viewers)
            ours += cpu
    rate = report["bytes"] * 8 / viewers / settings.seconds / 1e6
    ours -= idle
    row(f"{viewers} viewers over {transport.upper()}, {rate:.1f} Mb/s each; a bare C loop", core(ours, settings, settings.rounds),
        core(theirs, settings, settings.rounds), f"{ours / theirs:.2f}", "1.50", ours <= 1.5 * theirs)
    wanted = floor_report["bytes"]
    if not 0.9 < report["bytes"] / wanted < 1.1:
        print(f"  (unequal work: {report['bytes']} bytes against {wanted})")


def measure_jitter(settings):
    """How evenly pictures arrive at many viewers; a single viewer shows what the source, the encoder and the machine add."""
    with vidicon(settings, *STREAM) as process:
        _, alone = watched_by(settings, process, "tcp", "rtsp", process.port, 1)
        _, report = watched_by(settings, process, "tcp", "rtsp", process.port, 200)

    def text(report):
        return f"p50 {report['jitterP50']:.1f} ms, p99 {report['jitterP99']:.1f} ms"

    row("jitter between pictures, 200 viewers over TCP; one viewer", text(report), text(alone), "", "p99 10 ms",
        report["jitterP99"] < 10)


def measure_memory(settings):
    with vidicon(settings, *STREAM) as process:
        time.sleep(2)
        alone = resident_megabytes(process)
        watched_by(settings, process, "tcp", "rtsp", process.port, 1000)
        many = resident_megabytes(process)
    row("resident memory with 1000 viewers over TCP", f"{many:.0f} MB", f"{alone:.0f} MB without viewers", "", "120 MB",
        many < 120)


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
    row("connect to first decoded picture, 20 times", f"p50 {p50:.0f} ms, worst {worst:.0f} ms", "", "", "600 ms", worst < 600)


def measure_delay(settings):
    with vidicon(settings, "--source", "bars", *STREAM[2:]) as process:
        time.sleep(1)
        times = measured(settings, "delay", process.url, settings.seconds)
    if len(times) < 30:
        raise SystemExit(f"the strip was read {len(times)} times only")
    row("capture to decoded picture over TCP on loopback", f"p50 {part(times, 0.5):.1f} ms, p99 {part(times, 0.99):.1f} ms",
        "", "", "reported", True)


MUX_ROUNDS = 20


def instructions(*program):
    """The instructions that a run of a program takes in user mode, of all its threads."""
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *program]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return int(re.search(r"I\s+refs:\s+([\d,]+)", report)[1].replace(",", ""))


def measure_mux(settings):
    """Muxing a second of 720p30 with sound, against encoding it; each is what a run takes more than the one before."""
    pictures = settings.tools / "720p30.yuv"
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", prepare_video(settings), "-frames:v", "30", "-pix_fmt", "yuv420p",
                    "-f", "rawvideo", pictures], check=True)
    reading, encoding = (instructions(settings.tools / "mux", mode, pictures) for mode in ("read", "encode"))
    for mode, name in (("ts", "MPEG-TS"), ("mp4", "fragmented MP4")):
        ours = (instructions(settings.tools / "mux", mode, pictures) - encoding) / MUX_ROUNDS
        theirs = encoding - reading
        row(f"muxing a second of 720p30 and sound as {name}; encoding it", f"{ours / 1e6:.2f} M instructions",
            f"{theirs / 1e6:.0f} M instructions", f"{ours / theirs:.2%}", "1%", ours <= 0.01 * theirs)


def measure_convert(settings):
    """Bringing a picture into the encoder's form, against the bare calls of libyuv; what a hundred take more than none."""
    for how, options in (("", []), (" and mirroring it", ["mirror"])):
        def picture(mode):
            none, hundred = (instructions(settings.tools / "convert", mode, *options, count) for count in ("0", "100"))
            return (hundred - none) / 100
        ours, theirs = picture("canvas"), picture("libyuv")
        row(f"converting a YUYV picture of 720p{how}; libyuv alone", f"{ours / 1e3:.0f} k instructions",
            f"{theirs / 1e3:.0f} k instructions", f"{ours / theirs:.3f}", "1.2", ours <= 1.2 * theirs)


def measure_hls(settings):
    """A thousand viewers of the TS playlist, each with its connection: a playlist and a segment each second."""
    viewers = 1000
    with vidicon(settings, *STREAM) as process:
        time.sleep(2)
        idle = cpu_while(process, settings.seconds)
        with running(settings.tools / "hls_sink", str(process.http_port), "/live/playlist.m3u8", str(viewers),
                     str(settings.seconds), stdout=subprocess.PIPE) as sink:
            if sink.stdout.readline() != "ready\n":
                raise SystemExit("the viewers did not get ready")
            begin = cpu_seconds(process)
            report = json.loads(sink.stdout.readline())
            used = cpu_seconds(process) - begin - idle
    rate = report["bytes"] * 8 / viewers / settings.seconds / 1e6
    row(f"{viewers} keep-alive viewers of HLS in MPEG-TS, {rate:.1f} Mb/s each", core(used, settings),
        f"answers p50 {report['answerP50']} ms, p99 {report['answerP99']} ms", "", "100% of a core",
        used < settings.seconds and report["segments"] > 0.9 * viewers * settings.seconds)


def measure_hls_delay(settings):
    """Capture to the picture in Chromium, read from the strip: the page's own player, and hls.js with the TS playlist."""
    clients = pathlib.Path(__file__).parent.parent / "Tests/EndToEndTests/Clients"
    library = pathlib.Path(settings.video).parent / "hls.mjs"
    with vidicon(settings, "--source", "bars", *STREAM[2:]) as process:
        address = f"http://127.0.0.1:{process.http_port}/live"
        for what, limit, command in (
                ("the web page (low latency)", 1.2, ["page_play.py", address, settings.tools, "--seconds", str(settings.seconds)]),
                ("hls.js and the TS playlist", 4.0, ["hls_play.py", "hlsjs", f"{address}/playlist.m3u8", "--library", library,
                                                    "--seconds", str(settings.seconds)])):
            output = subprocess.run(["python3", clients / command[0], *map(str, command[1:])], check=True, capture_output=True)
            p50 = json.loads(output.stdout)["medianLatency"]
            row(f"capture to picture in Chromium: {what}", f"p50 {p50:.2f} s", "", "", f"{limit} s", p50 < limit)


MEASUREMENTS = {
    "encode": measure_encode,
    "mux": measure_mux,
    "convert": measure_convert,
    "hls": measure_hls,
    "hlsdelay": measure_hls_delay,
    "tcp": lambda settings: measure_fan_out(settings, "tcp"),
    "udp": lambda settings: measure_fan_out(settings, "udp"),
    "jitter": measure_jitter,
    "memory": measure_memory,
    "join": measure_join,
    "delay": measure_delay,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MEASUREMENTS))
    parser.add_argument("--program", required=True)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--video", required=True)
    parser.add_argument("--viewers", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=15, help="the length of each measurement")
    parser.add_argument("--rounds", type=int, default=2, help="how often each side takes its turn")
    settings = parser.parse_args()
    for name in settings.names:
        if name not in MEASUREMENTS:
            parser.error(f"there is no measurement {name}")
    print("| measured | Vidicon | against | ratio | limit | holds |\n|---|---|---|---|---|---|", flush=True)
    for name in settings.names or MEASUREMENTS:
        MEASUREMENTS[name](settings)


main()
