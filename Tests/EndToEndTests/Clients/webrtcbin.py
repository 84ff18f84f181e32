"""GStreamer's webrtcbin as a client of WHIP and WHEP. Runs with the system's interpreter, for which Debian packages the bindings."""
import urllib.error
import urllib.request

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstSdp", "1.0")
gi.require_version("GstWebRTC", "1.0")
from gi.repository import Gst, GstSdp, GstWebRTC  # noqa: E402


def request(method, url, body=None, fields=None):
    """Sends a request, whose body is a session description; returns the status, the fields and the body of the response."""
    fields = ({"Content-Type": "application/sdp"} if body else {}) | (fields or {})
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, fields, method=method), timeout=20) as response:
            return response.status, dict(response.headers), response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read().decode()


class Peer:
    """A pipeline with a webrtcbin; errors of the pipeline are in `errors`."""

    def __init__(self, pipeline, peer):
        self.pipeline, self.peer = pipeline, peer
        self.kept, self.errors = [], []
        self.pipeline.get_bus().set_sync_handler(self.note)

    def note(self, bus, message):
        if message.type == Gst.MessageType.ERROR:
            self.errors.append(message.parse_error()[0].message)
            self.failed()
        return Gst.BusSyncReply.PASS

    def failed(self):
        """Called after an error."""

    def ask(self, signal, *arguments):
        promise = Gst.Promise.new()
        self.peer.emit(signal, *arguments, promise)
        promise.wait()
        reply = promise.get_reply()
        # The bindings free what is in them with them.
        self.kept += [promise, reply]
        return reply

    def make_offer(self):
        offer = self.ask("create-offer", None).get_value("offer")
        self.ask("set-local-description", offer)
        return offer.sdp.as_text()

    def take_answer(self, text):
        _, message = GstSdp.SDPMessage.new_from_text(text)
        self.ask("set-remote-description", GstWebRTC.WebRTCSessionDescription.new(GstWebRTC.WebRTCSDPType.ANSWER, message))
