"""WebRTC viewers by `webrtc_sink`, and the bare C loop `webrtc_floor`."""
import json
import subprocess
import time
import urllib.request

from harness import (STREAM, cpu_seconds, part, passed_through, prepare_video, resident_megabytes, running, serving_seconds,
                     vidicon)
from report import row

FRAME_INTERVAL = 1000 / 30
PUBLISHER_TOKEN = "0123456789abcdef0123"


def watched(settings, process, kind, port, viewers):
    """Processor time of a process while WebRTC viewers play, in seconds, its resident memory with them in MB, and their report."""
    with running(settings.tools / "webrtc_sink", kind, port, "live", viewers, settings.seconds, stdout=subprocess.PIPE) as sink:
        if sink.stdout.readline() != "ready\n":
            raise SystemExit("the viewers did not get ready")
        begin = cpu_seconds(process)
        report = json.loads(sink.stdout.readline())
        used, resident = cpu_seconds(process) - begin, resident_megabytes(process)
        # The sink ends its sessions.
        sink.wait(60)
        return used, resident, report


def measure_fan_out(settings):
    """WebRTC viewers of a stream that another process encodes, against a bare C loop that seals and sends the same packets."""
    with passed_through(settings, "--webrtc-port", "0") as process:
        compare_fan_out(settings, process)


def compare_fan_out(settings, process):
    viewers, recording = settings.viewers or 500, settings.tools / "webrtc_recording"
    # The program returns the memory that only its start has used after 3 s.
    time.sleep(12)
    subprocess.run([settings.tools / "webrtc_sink", "record", str(process.http_port), "live", "8", recording], check=True)
    ours = theirs = 0.0
    memory, reports, floor_reports = None, [], []
    for _ in range(settings.rounds):
        # With one viewer, audio is transcoded to Opus as with many.
        alone, resident_alone, _ = watched(settings, process, "whep", process.http_port, 1)
        with running(settings.tools / "webrtc_floor", recording, viewers, stdout=subprocess.PIPE) as floor:
            port = floor.stdout.readline().strip()
            used, _, report = watched(settings, floor, "floor", port, viewers)
            theirs += used
            floor_reports.append(report)
        used, resident, report = watched(settings, process, "whep", process.http_port, viewers)
        ours += (used - alone) * viewers / (viewers - 1)
        reports.append(report)
        # Later rounds find the memory of earlier ones.
        memory = memory or 1000 * (resident - resident_alone) / (viewers - 1)
    seconds = settings.seconds * settings.rounds

    def total(reports, key):
        return sum(report[key] for report in reports)

    def mean(reports, key):
        return total(reports, key) / len(reports)

    def spread(reports):
        worst = max(report["spreadMaximum"] for report in reports)
        return f"p50 {mean(reports, 'spreadP50'):.1f} ms, p95 {mean(reports, 'spreadP95'):.1f} ms, worst {worst:.0f} ms"

    rate = total(reports, "bytes") * 8 / viewers / seconds / 1e6
    row(f"{viewers} viewers over WebRTC, {rate:.1f} Mb/s each; a bare C loop with the same cipher",
        f"{100 * ours / seconds:.1f}% of a core", f"{100 * theirs / seconds:.1f}% of a core", f"{ours / theirs:.2f}", "1.50",
        ours <= 1.5 * theirs)
    p95, floor_p95 = (mean(each, "spreadP95") for each in (reports, floor_reports))
    row(f"spread of a frame over {viewers} viewers over WebRTC; by the bare C loop", spread(reports), spread(floor_reports),
        f"{p95 / floor_p95:.2f}", "1.50", p95 <= 1.5 * floor_p95)
    late, floor_late = (f"{total(each, 'late')} of {total(each, 'spreadFrames')}" for each in (reports, floor_reports))
    row(f"frames whose spread is more than {FRAME_INTERVAL:.0f} ms; by the bare C loop", late, floor_late, "", "none",
        total(reports, "late") == 0 and total(reports, "spreadFrames") > 0)
    jitter, floor_jitter = (f"p50 {mean(each, 'jitterP50'):.1f} ms, p99 {mean(each, 'jitterP99'):.1f} ms"
                            for each in (reports, floor_reports))
    row(f"jitter of frames at {viewers} viewers over WebRTC; of the bare C loop's", jitter, floor_jitter, "", "reported", True)
    row("packets lost by them; by those of the bare C loop", total(reports, "lost"), total(floor_reports, "lost"), "", "reported", True)
    row("resident memory that a viewer over WebRTC adds", f"{memory:.0f} KB", "", "", "60 KB", memory <= 60)
    sent, floor_sent = (total(each, "bytes") for each in (reports, floor_reports))
    if not 0.9 < sent / floor_sent < 1.1:
        print(f"  (unequal work: {sent} bytes against {floor_sent})")


def first_keyframes(settings, process, count=30, pause=1500):
    """Times from POST to the first complete keyframe of viewers that come one by one, in milliseconds, sorted."""
    output = subprocess.run(
        [settings.tools / "webrtc_sink", "first", str(process.http_port), "live", str(count), str(pause)], check=True,
        capture_output=True, text=True).stdout
    return sorted(map(float, output.split()))


def measure_join(settings):
    """WebRTC viewers that come at once and one by one, and the cost of offer, checks and DTLS."""
    with vidicon(settings, *STREAM, "--webrtc-port", "0") as process:
        join(settings, process)


def join(settings, process, viewers=100):
    time.sleep(3)
    sink = settings.tools / "webrtc_sink"
    output = subprocess.run([sink, "join", str(process.http_port), "live", str(viewers), "0"], check=True, capture_output=True,
                            text=True).stdout
    report = json.loads(output)
    row(f"{viewers} viewers that join at once over WebRTC: time until all have a complete keyframe, and keyframes until then",
        f"{report['complete']} after {report['lastMilliseconds']:.0f} ms, {report['keyframes']} keyframes", "", "",
        "2000 ms, 4 keyframes",
        report["complete"] == viewers and report["lastMilliseconds"] <= 2000 and report["keyframes"] <= 4)

    def text(times):
        return f"p50 {part(times, 0.5):.0f} ms, p95 {part(times, 0.95):.0f} ms"

    # Requests of keyframes are bounded; those of the viewers before have used some.
    time.sleep(5)
    unwatched = first_keyframes(settings, process)
    with running(sink, "whep", process.http_port, "live", 1, 600, stdout=subprocess.DEVNULL):
        time.sleep(5)
        others = first_keyframes(settings, process)
    row("POST to the first complete keyframe over WebRTC, 30 times; of a stream that is watched", text(unwatched), text(others), "",
        "p95 300 ms", max(part(unwatched, 0.95), part(others, 0.95)) <= 300)
    requests, handshakes = [], []
    # A client may have a hundred sessions: that of the viewer above ends with its consent.
    viewers = min(viewers, 99)
    for _ in range(settings.rounds):
        begin = serving_seconds(process)
        with running(sink, "handshake", process.http_port, "live", viewers, 0, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as clients:
            read(clients, "answered")
            answered = serving_seconds(process)
            clients.stdin.write("\n")
            clients.stdin.flush()
            read(clients, "connected")
            requests.append((answered - begin) / viewers)
            handshakes.append((serving_seconds(process) - answered) / viewers)
            clients.wait(60)
    row(f"processor time for the offer of a WebRTC viewer, {viewers} at once", f"{1000 * min(requests):.2f} ms", "", "", "", True)
    row(f"processor time for the checks and DTLS of a WebRTC viewer, {viewers} at once", f"{1000 * min(handshakes):.2f} ms", "", "", "1 ms",
        min(handshakes) <= 0.001)


def read(clients, line):
    if clients.stdout.readline() != f"{line}\n":
        raise SystemExit(f"the viewers are not {line}")


def encoded_frames(process, name):
    """Number of frames that were encoded of a stream."""
    with urllib.request.urlopen(f"http://127.0.0.1:{process.http_port}/metrics", timeout=10) as response:
        lines = response.read().decode().splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines
               if line.startswith(f'vidicon_frames_encoded_total{{stream="{name}"'))


def measure_publishers(settings):
    """Publishers over WHIP that send what was encoded before: what receiving costs besides decoding, and how many two cores carry."""
    recording = settings.tools / "whip_recording"
    with vidicon(settings, "--source", f"file:{prepare_video(settings)}", "--size", "640x360", "--fps", "30", "--bitrate", "800k",
                 "--profile", "baseline", "--webrtc-port", "0") as process:
        time.sleep(3)
        subprocess.run([settings.tools / "webrtc_sink", "record", str(process.http_port), "live", "12", recording], check=True)
    for count in (1, 8):
        publish(settings, recording, count)


def publish(settings, recording, count):
    streams = [word for number in range(1, count + 1) for word in (
        "--stream", f"name=camera{number},source=whip:?token={PUBLISHER_TOKEN}{number},size=640x360,fps=30,bitrate=800k")]
    names = [f"camera{number}" for number in range(1, count + 1)]
    with vidicon(settings, *streams, "--webrtc-port", "0", "--https-port", "0") as process:
        time.sleep(3)
        with running(settings.tools / "whip_source", process.http_port, "camera", count, PUBLISHER_TOKEN, settings.seconds, recording,
                     stdout=subprocess.PIPE) as source:
            if source.stdout.readline() != "ready\n":
                raise SystemExit("the publishers did not connect")
            frames = [encoded_frames(process, name) for name in names]
            began, used, begin = time.monotonic(), cpu_seconds(process), serving_seconds(process)
            packets = int(source.stdout.readline().split()[1])
            received, used = serving_seconds(process) - begin, cpu_seconds(process) - used
            seconds = time.monotonic() - began
            rates = [(encoded_frames(process, name) - before) / seconds for name, before in zip(names, frames)]
    share = 100 * received / seconds / count
    row(f"receiving each of {count} publishers over WHIP, {packets / seconds / count:.0f} packets a second, besides decoding",
        f"{share:.1f}% of a core", "", "", "3% of a core", share <= 3)
    row(f"frames per second of the slowest of {count} streams of such publishers, decoded and encoded again at 640x360; all threads",
        f"{min(rates):.1f}; {100 * used / seconds:.0f}% of a core", "", "", "29", min(rates) >= 29)
