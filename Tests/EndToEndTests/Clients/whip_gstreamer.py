#!/usr/bin/python3
"""Publishes a ball that moves and a sine by WHIP with GStreamer's webrtcbin, and prints as JSON what became of it.

usage: whip_gstreamer.py URL --bearer TOKEN --until FILE [--offer]

It publishes until the file exists. With --offer it prints the offer, and posts nothing. Runs with the system's interpreter, as
webrtcbin.py does.
"""
import argparse
import json
import os
import threading
import time
import urllib.parse

from webrtcbin import Gst, GstWebRTC, Peer, request

PIPELINE = """
webrtcbin name=peer bundle-policy=max-bundle
videotestsrc is-live=true pattern=ball ! video/x-raw,format=I420,width=640,height=360,framerate=30/1 ! queue
! openh264enc bitrate=800000 gop-size=60 complexity=low ! video/x-h264,profile=constrained-baseline
! rtph264pay config-interval=-1 aggregate-mode=zero-latency
! application/x-rtp,media=video,encoding-name=H264,payload=96,clock-rate=90000,packetization-mode=(string)1 ! peer.
audiotestsrc is-live=true wave=sine volume=0.3 ! audio/x-raw,rate=48000,channels=2 ! queue ! opusenc ! rtpopuspay
! application/x-rtp,media=audio,encoding-name=OPUS,payload=97,clock-rate=48000,encoding-params=(string)2 ! peer.
"""


class Publisher(Peer):
    def __init__(self):
        pipeline = Gst.parse_launch(PIPELINE)
        super().__init__(pipeline, pipeline.get_by_name("peer"))
        self.can_offer = threading.Event()
        for index in range(2):
            self.peer.emit("get-transceiver", index).set_property(
                "direction", GstWebRTC.WebRTCRTPTransceiverDirection.SENDONLY)
        self.peer.connect("on-negotiation-needed", lambda _: self.can_offer.set())

    def offer(self):
        self.pipeline.set_state(Gst.State.PLAYING)
        if not self.can_offer.wait(30):
            raise SystemExit(f"webrtcbin makes no offer: {self.errors}")
        return self.make_offer()

    def publish(self, url, token, until):
        fields = {"Authorization": f"Bearer {token}"}
        status, response, text = request("POST", url, self.offer().encode(), fields)
        seen = {"status": status}
        if status == 201:
            self.take_answer(text)
            while not os.path.exists(until) and not self.errors:
                time.sleep(0.1)
            session = urllib.parse.urljoin(url, response["Location"])
            seen["deleted"] = request("DELETE", session, fields=fields)[0]
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
