#!/usr/bin/python3
"""Publishes a ball that moves and a sine by WHIP with GStreamer's webrtcbin, and prints as JSON what became of it.

usage: whip_gstreamer.py URL --bearer TOKEN --until FILE [--offer]

It publishes until the file exists. With --offer it prints the offer, and posts nothing. Runs with the system's interpreter, for which
Debian packages GStreamer's bindings.
"""
import argparse
import json
import os
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstSdp", "1.0")
gi.require_version("GstWebRTC", "1.0")
from gi.repository import Gst, GstSdp, GstWebRTC  # noqa: E402

PIPELINE = """
webrtcbin name=peer bundle-policy=max-bundle
videotestsrc is-live=true pattern=ball ! video/x-raw,format=I420,width=640,height=360,framerate=30/1 ! queue
! openh264enc bitrate=800000 gop-size=60 complexity=low ! video/x-h264,profile=constrained-baseline
! rtph264pay config-interval=-1 aggregate-mode=zero-latency
! application/x-rtp,media=video,encoding-name=H264,payload=96,clock-rate=90000,packetization-mode=(string)1 ! peer.
audiotestsrc is-live=true wave=sine volume=0.3 ! audio/x-raw,rate=48000,channels=2 ! queue ! opusenc ! rtpopuspay
! application/x-rtp,media=audio,encoding-name=OPUS,payload=97,clock-rate=48000,encoding-params=(string)2 ! peer.
"""


def request(method, url, fields, body=None):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, fields, method=method), timeout=20) as response:
            return response.status, dict(response.headers), response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read().decode()


class Publisher:
    def __init__(self):
        self.kept, self.errors = [], []
        self.can_offer = threading.Event()
        self.pipeline = Gst.parse_launch(PIPELINE)
        self.pipeline.get_bus().set_sync_handler(self.note)
        self.peer = self.pipeline.get_by_name("peer")
        for index in range(2):
            self.peer.emit("get-transceiver", index).set_property(
                "direction", GstWebRTC.WebRTCRTPTransceiverDirection.SENDONLY)
        self.peer.connect("on-negotiation-needed", lambda _: self.can_offer.set())

    def note(self, bus, message):
        if message.type == Gst.MessageType.ERROR:
            self.errors.append(message.parse_error()[0].message)
        return Gst.BusSyncReply.PASS

    def ask(self, signal, *arguments):
        promise = Gst.Promise.new()
        self.peer.emit(signal, *arguments, promise)
        promise.wait()
        reply = promise.get_reply()
        # The bindings free what is in them with them.
        self.kept += [promise, reply]
        return reply

    def offer(self):
        self.pipeline.set_state(Gst.State.PLAYING)
        if not self.can_offer.wait(30):
            raise SystemExit(f"webrtcbin makes no offer: {self.errors}")
        offer = self.ask("create-offer", None).get_value("offer")
        self.ask("set-local-description", offer)
        return offer.sdp.as_text()

    def publish(self, url, token, until):
        fields = {"Authorization": f"Bearer {token}"}
        status, response, text = request(
            "POST", url, {"Content-Type": "application/sdp", **fields}, self.offer().encode())
        seen = {"status": status}
        if status == 201:
            _, message = GstSdp.SDPMessage.new_from_text(text)
            self.ask("set-remote-description", GstWebRTC.WebRTCSessionDescription.new(GstWebRTC.WebRTCSDPType.ANSWER, message))
            while not os.path.exists(until) and not self.errors:
                time.sleep(0.1)
            session = urllib.parse.urljoin(url, response["Location"])
            seen["deleted"] = request("DELETE", session, fields)[0]
        return seen | {"errors": self.errors}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--bearer", required=True)
    parser.add_argument("--until", required=True)
    parser.add_argument("--offer", action="store_true")
    options = parser.parse_args()
    Gst.init(None)
    publisher = Publisher()
    if options.offer:
        print(publisher.offer())
    else:
        print(json.dumps(publisher.publish(options.url, options.bearer, options.until)))
    publisher.pipeline.set_state(Gst.State.NULL)


if __name__ == "__main__":
    main()
