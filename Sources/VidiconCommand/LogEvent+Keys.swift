extension LogEvent.Name {
  /// Keys of an event beside `stream`, `message` and `more`: those that it always has, and those that it may have. docs/operate.md promises
  /// them, and ``Terminal/log(_:)`` checks them.
  var keys: (always: Set<String>, sometimes: Set<String>) {
    switch self {
    case .listening:
      (
        ["version"],
        [
          "rtsp", "rtsps", "rtmp", "rtmps", "webrtc", "http", "https", "certificate", "authority",
          "control_token_file",
        ]
      )
    case .streamStarted: ([], ["source", "audio", "page", "rtsp", "rtmp", "whep", "publish", "choice"])
    case .announced: (["service", "name", "port"], [])
    case .viewers: (["viewers"], ["rtsp", "rtmp", "webrtc", "hls", "mjpeg"])
    case .viewerJoined: (["protocol", "rendition", "address"], [])
    case .viewerLeft: (["protocol", "rendition", "address", "reason", "duration"], [])
    case .loginRefused: (["address", "reason", "count"], [])
    case .loginThrottled: (["address", "delay"], [])
    case .hostRefused: (["host", "count"], [])
    case .control: (["method", "path", "status", "address"], ["role"])
    case .sourceWaiting, .sourceSilent, .sourceEnded, .sourceFailed, .sourceBack, .switchFailed: (["kind"], [])
    case .sourceSwitched: (["kind", "source"], [])
    case .renditionFailed: (["rendition"], [])
    case .effect: (["effect", "problem"], [])
    case .recordingStarted, .recordingNotFinished, .recordingRepaired, .recordingRemoved, .recordingFileFull,
      .recordingFailed, .snapshotSaved, .snapshotFailed, .usersChanged:
      (["path"], [])
    case .recordingFinished: (["path", "duration", "bytes"], [])
    case .pushSending, .pushWaiting, .pushFailed, .pushStopped: (["push", "server"], [])
    case .reload: (["result"], [])
    case .linesDropped: (["count"], [])
    case .access, .announcementFailed, .viewerFailed, .clientEvents, .stopped, .failed, .recordingPaused,
      .recordingResumed, .recordingBehind, .recordingAgesUnknown, .recordingEnded, .usersFailed, .configuration,
      .descriptors, .message:
      ([], [])
    }
  }
}

extension LogEvent {
  /// Whether it has the keys of ``Name/keys``.
  var hasItsKeys: Bool {
    var keys = Set((self.fields + self.measures).map(\.key))
    if self.address != nil { keys.insert("address") }
    let (always, sometimes) = self.name.keys
    return keys.isSuperset(of: always) && keys.isSubset(of: always.union(sometimes))
  }
}
