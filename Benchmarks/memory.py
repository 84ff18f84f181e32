"""Resident memory of the program, and of its viewers."""
import time

from harness import STREAM, resident_megabytes, vidicon, viewers_of
from report import row


def measure(settings):
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
