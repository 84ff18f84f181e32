"""Viewers over RTSP: their cost against a bare C loop, by their number and encrypted, and their jitter."""
import statistics
import subprocess

from harness import (STREAM, UNIT_HEADER, age, certificate, core, cpu_while, jitter, passed_through, running, served_to, vidicon,
                     watched_by)
from report import row


def measure_tcp(settings):
    """Many viewers over TCP."""
    measure_fan_out(settings, "tcp")


def measure_udp(settings):
    """Many viewers over UDP."""
    measure_fan_out(settings, "udp")


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


def recorded_writes(recording):
    """Units per second in a file of `record`: the writes of a viewer."""
    data, position, count, arrival = recording.read_bytes(), 0, 0, 0
    while position < len(data):
        arrival, length, _ = UNIT_HEADER.unpack_from(data, position)
        position += UNIT_HEADER.size + length
        count += 1
    return count / (arrival / 1e9)


def measure_rtsps(settings):
    """200 encrypted viewers against 200 plain ones of the same program, alternating."""
    viewers, ours, plain = 200, 0.0, 0.0
    file, key = certificate(settings)
    with vidicon(settings, *STREAM, "--rtsps-port", "0", "--tls-cert", file, "--tls-key", key) as process:
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
