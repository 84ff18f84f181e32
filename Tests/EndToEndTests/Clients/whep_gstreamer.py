#!/usr/bin/python3
"""Plays a WHEP URL with GStreamer's webrtcbin, and prints as JSON what it saw.

usage: whep_gstreamer.py URL [--frames 60] [--bare]

With --bare the offer has no parameters of H.264, which means packetization mode 0, and no channels of Opus.

Runs with the system's interpreter, as webrtcbin.py does. The colors are those of four points of the last
frame: of the bars' first, second and last bar, and of the white field below.
"""
import argparse
import json
import threading
import urllib.parse

from webrtcbin import Gst, GstWebRTC, Peer, request

POINTS = [(0.07, 0.45), (0.21, 0.45), (0.93, 0.45), (0.25, 0.92)]
CAPS = {
    "video": "application/x-rtp,media=video,encoding-name=H264,payload=96,clock-rate=90000,"
             "packetization-mode=(string)1,profile-level-id=(string)42e01f",
    "audio": "application/x-rtp,media=audio,encoding-name=OPUS,payload=97,clock-rate=48000,encoding-params=(string)2",
}
BARE = {
    "video": "application/x-rtp,media=video,encoding-name=H264,payload=96,clock-rate=90000",
    "audio": "application/x-rtp,media=audio,encoding-name=OPUS,payload=97,clock-rate=48000",
}


class Player(Peer):
    def __init__(self, frames, caps):
        self.wanted = frames
        self.done = threading.Event()
        self.frames, self.size, self.colors, self.audio = 0, [0, 0], [], 0
        super().__init__(Gst.Pipeline.new(), Gst.ElementFactory.make("webrtcbin"))
        self.peer.set_property("bundle-policy", GstWebRTC.WebRTCBundlePolicy.MAX_BUNDLE)
        self.peer.set_property("latency", 50)
        self.pipeline.add(self.peer)
        self.peer.connect("pad-added", self.add_decoder)
        for kind in ("video", "audio"):
            self.peer.emit("add-transceiver", GstWebRTC.WebRTCRTPTransceiverDirection.RECVONLY, Gst.Caps.from_string(caps[kind]))

    def failed(self):
        self.done.set()

    def add_decoder(self, peer, pad):
        if pad.get_direction() != Gst.PadDirection.SRC:
            return
        is_video = pad.get_current_caps().get_structure(0).get_string("media") == "video"
        chain = ("rtph264depay ! avdec_h264 ! videoconvert ! video/x-raw,format=RGB" if is_video
                 else "rtpopusdepay ! opusdec ! audioconvert ! audio/x-raw,format=S16LE")
        branch = Gst.parse_bin_from_description(f"{chain} ! appsink name=sink sync=false emit-signals=true", True)
        branch.get_by_name("sink").connect("new-sample", self.see if is_video else self.hear)
        self.pipeline.add(branch)
        branch.sync_state_with_parent()
        pad.link(branch.sinkpads[0])

    def hear(self, sink):
        buffer = sink.emit("pull-sample").get_buffer()
        samples = memoryview(buffer.extract_dup(0, buffer.get_size())).cast("h")
        self.audio = max(self.audio, max(map(abs, samples[::16]), default=0) / 32768)
        return Gst.FlowReturn.OK

    def see(self, sink):
        sample = sink.emit("pull-sample")
        self.frames += 1
        if self.frames == self.wanted:
            structure = sample.get_caps().get_structure(0)
            self.size = [structure.get_value("width"), structure.get_value("height")]
            width, height = self.size
            data, stride = sample.get_buffer().extract_dup(0, sample.get_buffer().get_size()), (width * 3 + 3) // 4 * 4
            for x, y in POINTS:
                offset = int(y * height) * stride + int(x * width) * 3
                self.colors.append(list(data[offset:offset + 3]))
            self.done.set()
        return Gst.FlowReturn.OK

    def play(self, url):
        self.pipeline.set_state(Gst.State.PLAYING)
        status, fields, text = request("POST", url, self.make_offer().encode())
        seen = {"status": status}
        if status == 201:
            self.take_answer(text)
            self.done.wait(30)
            session = urllib.parse.urljoin(url, fields["Location"])
            seen.update({
                "width": self.size[0], "height": self.size[1], "frames": self.frames, "colors": self.colors,
                "loudest": self.audio,
                "problem": self.errors[-1] if self.errors else None, "deleted": request("DELETE", session)[0]})
        self.pipeline.set_state(Gst.State.NULL)
        return seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--bare", action="store_true")
    options = parser.parse_args()
    Gst.init(None)
    print(json.dumps(Player(options.frames, BARE if options.bare else CAPS).play(options.url)))


if __name__ == "__main__":
    main()
