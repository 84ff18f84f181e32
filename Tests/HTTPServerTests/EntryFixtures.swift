/// Responses of the HTTP API in which every member is present.
enum EntryFixtures {
  /// `/api/streams`: a stream that a phone publishes, with the controls of a camera.
  static let streams = """
    {"time": "2026-11-27T12:00:00.000Z", "streams": [{
      "name": "cam", "page": "/cam", "snapshot": "/cam/snapshot.jpg", "mjpeg": "/cam/mjpeg", "hls": "/cam/index.m3u8",
      "ts": "/cam/playlist.m3u8", "whep": "/cam/whep", "whip": "/cam/whip", "publisher": \(publisher),
      "recording": "/api/streams/cam/recording", "rtsp": ["rtsp://h:8554/cam"], "rtmp": ["rtmp://h/live/cam"],
      "http": ["http://h:8080/cam"],
      "video": {"codec": "avc1.64001f", "width": 1280, "height": 720, "frameRate": 29.97, "bitrate": 2300000},
      "audio": {"codec": "mp4a.40.2", "sampleRate": 48000, "channels": 2, "bitrate": 128000},
      "renditions": [{
        "name": "low", "hls": "/cam/low/live.m3u8", "snapshot": "/cam/low/snapshot.jpg",
        "rtsp": ["rtsp://h:8554/cam/low"], "rtmp": ["rtmp://h/live/cam/low"], "width": 640, "height": 360,
        "frameRate": 15, "bitrate": 450000, "encoding": true, "failed": false, "viewers": {"rtsp": 1, "hls": 0},
        "framesEncoded": 12, "framesDropped": 1, "encodeMilliseconds": 4.25
      }],
      "viewers": {"rtsp": 1, "hls": 2, "mjpeg": 0},
      "webrtcViewers": [{
        "number": 3, "rendition": "main", "roundTrip": 12.5, "fractionLost": 0.25, "estimatedBitrate": 900000,
        "queueingDelay": 8.5, "packetsSent": 100, "packetsLost": 3, "packetsRetransmitted": 2, "framesSkipped": 1, "keyframesRequested": 4
      }],
      "framesIn": 100, "framesEncoded": 90, "framesPassedThrough": 5, "audioFramesPassedThrough": 6,
      "framesDropped": 7, "loopLag": 0.001, "slate": false, "startedAt": "2026-11-27T11:00:00.000Z",
      "role": "operator", "steerable": true, "login": "password",
      "source": {"video": "whip:", "audio": "mic:", "insecure": false, "started": {"video": "bars", "audio": "auto"}},
      "bitrate": 2300000, "mirror": true, "rotation": 90, "mute": false, "pause": false, "previewMirrored": true,
      "level": {"peak": -3.5, "rms": -12},
      "effects": {
        "faces": "privacy", "privacyMinFace": 0.055, "mask": "oval", "maskPart": "eyes",
        "maskAnchors": {"left": [0.25, 0.5], "right": [0.75, 0.5]}, "smooth": 0.5,
        "overlay": {"position": "top-left", "opacity": 0.5}, "clock": true,
        "color": {"brightness": 0.5, "contrast": 0, "saturation": 0, "temperature": 0}
      },
      "controls": {"zoom": 5}, "controlList": [\(control)]
    }]}
    """

  /// `/api/streams/NAME/publisher`, for an operator.
  static let publisherState = """
    {"publisher": \(publisher), "viewers": {"rtsp": 0, "hls": 1, "mjpeg": 0}, "latency": 120,
      "pages": ["https://h/cam/publish"], "token": "0123456789abcdef"}
    """

  /// `/api/streams/NAME/pushes`, of a push that waits.
  static let pushes = """
    {"pushes": [{
      "id": 1, "server": "rtmps://a.example/live2", "rendition": "low", "state": "waiting", "bitrate": 812345,
      "videoBitrate": 900000, "ownEncoding": true, "waitingForEncoding": false, "queue": 1.234, "framesDropped": 3,
      "audioFramesDropped": 1, "reconnects": 2, "failedAttempts": 4, "bytesSent": 12345,
      "lastFailure": "connection refused", "nextAttempt": 3.3
    }]}
    """

  /// `/api/streams/NAME/recording`, of a recording that has failed.
  static let recording = """
    {"state": "failed", "file": "/recordings/cam/a.mp4", "duration": 1.5, "bytes": 12, "bitrate": 64000, "drops": 3,
      "error": "the disk is full; make room"}
    """

  /// `/api/recordings`.
  static let recordings = """
    {"recordings": [{
      "stream": "cam", "name": "a.mp4", "file": "/recordings/cam/a.mp4", "bytes": 12,
      "modifiedAt": "2026-11-27T11:00:00.000Z", "finished": true,
      "ticket": "0123456789abcdef0123456789abcdef0123456789abcdef"
    }], "total": 1, "bytes": 12}
    """

  /// `/api/devices`.
  static let devices = """
    {"devices": [
      {
        "kind": "camera", "specification": "v4l2:/dev/video0", "name": "Cam", "stableName": "usb-1", "position": "front",
        "formats": [
          {"name": "YUYV", "width": 640, "height": 480, "frameRates": [30, 7.5]},
          {"name": "MJPG", "frameRateRange": {"minimum": 1, "maximum": 60}}
        ],
        "controls": [\(control)]
      },
      {
        "kind": "microphone", "specification": "mic:hw", "name": "Mic", "stableName": "hw", "problem": "it is busy",
        "formats": [{"name": "S16_LE", "sampleRate": 48000, "channels": 2}], "controls": []
      }
    ], "generators": [{"kind": "video", "specification": "plasma", "name": "Plasma"}], "restricted": true}
    """

  /// `/api/session`, after a login.
  static let session = """
    {"role": "operator", "steerable": true, "login": "token", "token": "0123456789abcdef"}
    """

  /// `/api/reload`.
  static let reload = """
    {"changes": ["door: started"], "problems": ["httpPort: used when the program is started again"]}
    """

  /// `/api/check`.
  static let check = """
    {"verdict": "fault", "age": 3, "findings": [
      {"part": "ports", "subject": "HTTP port 8080", "verdict": "fault", "meaning": "in use", "command": "ss -lnpt"},
      {"part": "clock", "subject": "clock", "verdict": "warning", "meaning": "not kept", "advice": "start a time service"}]}
    """

  private static let publisher = """
    {"live": true, "video": "vp8", "audio": "opus", "roundTrip": 40.5, "packetsReceived": 10, "datagramsDropped": 9, "packetsLost": 1,
      "packetsRecovered": 2, "framesReceived": 12, "framesDropped": 3, "keyframesRequested": 4, "sessionsOpened": 5,
      "sessionsReplaced": 6, "sessionsTakenOver": 7, "attemptsRefused": 8}
    """

  private static let control = """
    {"name": "zoom", "label": "Zoom", "kind": "menu", "minimum": 1, "maximum": 9, "step": 2, "defaultValue": 1,
      "value": 5, "menu": [{"value": 1, "label": "Near"}], "readOnly": false, "inactive": true}
    """
}
