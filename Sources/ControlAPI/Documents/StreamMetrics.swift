internal import Capture
internal import Effects
internal import HLS
internal import HLSServer
internal import Media
internal import Pushing
internal import Recording
internal import Serving
internal import StreamControl
internal import Streaming

/// Counters of one stream, read once per response of `/metrics`.
struct StreamMetrics {
  /// Counters of one of its renditions.
  struct RenditionMetrics {
    let name: String
    let bitrate: Int
    let statistics: RenditionStatistics
    /// Viewers by protocol.
    let viewers: [Metric<StreamMetrics>.Value]
  }

  let name: String
  let statistics: StreamStatistics
  let hls: HLSStatistics
  /// Waiting HLS requests.
  let waiting: Int
  let jpeg: SnapshotStatistics
  let kinds: [MediaKind]
  /// Viewers over HTTP, by kind.
  let httpViewers: [Metric<StreamMetrics>.Value]
  /// Bytes sent over HTTP, by kind.
  let httpBytes: [Metric<StreamMetrics>.Value]
  /// Counters of the other protocols.
  let protocols: [WebServerProviders.ProtocolStatistics]
  let renditions: [RenditionMetrics]
  /// nil where the source is not of WebRTC publishers.
  let publisher: WebRTCPublisherStatistics?
  let pushes: [PushReport]
  /// nil without a recorder.
  let recording: RecordingStatus?

  init(_ served: ServedStream, providers: WebServerProviders, at now: MediaTime) {
    let controls = providers.controls(served.stream)
    self.name = served.name
    self.statistics = served.stream.statistics
    self.hls = served.hls.statistics
    self.waiting = served.hls.waitingCount
    self.jpeg = served.stream.snapshots.statistics
    self.kinds = served.stream.descriptions.map(\.kind)
    self.httpViewers = [.hls, .mjpeg].map { (content: ServedStream.Content) in
      (content.rawValue, served.viewers(of: content, at: now))
    }
    self.httpBytes = ServedStream.Content.allCases.map { ($0.rawValue, served.bytesSent(of: $0)) }
    self.protocols = providers.statistics(served.stream)
    self.renditions = served.stream.renditions.map { rendition in
      let others = providers.renditionStatistics(rendition).map { ($0.name, $0.statistics.viewers) }
      return RenditionMetrics(
        name: rendition.name, bitrate: rendition.bitrate, statistics: rendition.statistics,
        viewers: [("hls", served.hlsViewers(of: rendition.name, at: now))] + others)
    }
    self.publisher = providers.publisher(served.stream)
    self.pushes = controls.pushes?.reports() ?? []
    self.recording = controls.recording?.status()
  }

  /// Viewers over WebRTC, with what is measured of their networks.
  var viewers: [WebRTCViewerStatistics] { self.protocols.flatMap { $0.statistics.viewerList ?? [] } }

  /// A counter by protocol, of those that have it.
  fileprivate func byProtocol(_ value: (ViewerStatistics) -> (any MetricValue)?) -> [Metric<StreamMetrics>.Value] {
    self.protocols.compactMap { entry in value(entry.statistics).map { (entry.name, $0) } }
  }

  /// A value of the video track and one of the audio track, of those that the stream has.
  fileprivate func byKind(
    video: any MetricValue, audio: any MetricValue
  ) -> [Metric<StreamMetrics>.Value] {
    self.kinds.map { ($0.rawValue, $0 == .video ? video : audio) }
  }
}

extension Metric<StreamMetrics> {
  /// Metrics of each stream.
  static let ofStreams = pipelines + viewers + segments

  private static let pipelines: [Metric<StreamMetrics>] = [
    Metric(
      "encoders", .gauge, "Open encoders of a stream, independent of the number of viewers and protocols.", by: "kind"
    ) { $0.byKind(video: $0.statistics.videoEncoders, audio: $0.statistics.audioEncoders) },
    Metric("frames_in_total", .counter, "Frames received from the source.") { $0.statistics.framesIn },
    Metric("frames_encoded_total", .counter, "Frames encoded, slates included.") { $0.statistics.framesEncoded },
    Metric(
      "frames_passed_through_total", .counter,
      "Compressed video frames of the source passed through without transcoding."
    ) { $0.statistics.framesPassedThrough },
    Metric(
      "audio_frames_passed_through_total", .counter,
      "Compressed audio frames of the source passed through without transcoding."
    ) { $0.statistics.audioFramesPassedThrough },
    Metric("frames_dropped_total", .counter, "Frames dropped, by reason.", by: "reason") { stream in
      FrameDrop.Reason.allCases.map { ($0.rawValue, stream.statistics.framesDropped[$0, default: 0]) }
    },
    Metric(
      "face_detection_restarts_total", .counter,
      "Times that the search for faces of privacy mode missed its deadline or failed, and was started again; frames are "
        + "covered meanwhile.", by: "reason"
    ) { stream in
      let effects = stream.statistics.effects
      return [
        ("stalled", effects.reduce(0) { $0 + $1.detectionStalls }),
        ("failed", effects.reduce(0) { $0 + $1.detectionFailures }),
      ]
    },
    Metric("keyframes_total", .counter, "Keyframes encoded.") { $0.statistics.keyframes },
    Metric("keyframe_requests_total", .counter, "Keyframes requested by outputs.") { $0.statistics.keyframeRequests },
    Metric("encoded_bytes_total", .counter, "Bytes produced by the encoders.", by: "kind") {
      $0.byKind(video: $0.statistics.videoBytes, audio: $0.statistics.audioBytes)
    },
    Metric("encode_seconds_total", .counter, "Time spent encoding, in seconds.", by: "kind") {
      $0.byKind(video: $0.statistics.videoEncodeTime, audio: $0.statistics.audioEncodeTime)
    },
    Metric("queued", .gauge, "Video frames and audio blocks waiting for their encoder.", by: "kind") {
      $0.byKind(video: $0.statistics.videoFramesQueued, audio: $0.statistics.audioBlocksQueued)
    },
    Metric("slate_shown", .gauge, "1 while the slate is shown because the source delivers no frames.") {
      $0.statistics.isSlateShown
    },
    Metric("jpeg_encoded_total", .counter, "JPEG images encoded for snapshots and motion JPEG.") {
      $0.jpeg.imagesEncoded
    },
    Metric("jpeg_encode_seconds_total", .counter, "Time spent encoding JPEG images, in seconds.") {
      $0.jpeg.encodeTime
    },
  ]

  private static let viewers: [Metric<StreamMetrics>] = [
    Metric("viewers", .gauge, "Current viewers, by protocol.", by: "protocol") {
      $0.httpViewers + $0.byProtocol(\.viewers)
    },
    Metric("sent_bytes_total", .counter, "Bytes of media sent to viewers, by protocol.", by: "protocol") {
      $0.httpBytes + $0.byProtocol(\.bytesSent)
    },
    Metric(
      "frames_skipped_total", .counter, "Frames not sent to viewers that read too slowly, by protocol.", by: "protocol"
    ) { $0.byProtocol(\.framesSkipped) },
    Metric(
      "viewers_closed_as_slow_total", .counter, "Viewers closed because they read nothing, by protocol.",
      by: "protocol"
    ) { $0.byProtocol(\.viewersClosedAsSlow) },
    Metric(
      "datagrams_dropped_total", .counter, "Datagrams that were not sent to viewers, by protocol.", by: "protocol"
    ) { $0.byProtocol { $0.udpSendBufferLength == nil ? nil : $0.datagramsDropped } },
    Metric(
      "loop_lag_seconds", .gauge,
      "Maximum time that packets have waited for an event loop, in the last 10 to 20 seconds, by protocol.",
      by: "protocol"
    ) { $0.byProtocol(\.loopLag) },
    Metric(
      "udp_send_buffer_bytes", .gauge, "Length of the send buffer that the system has granted for UDP, by protocol.",
      by: "protocol"
    ) { $0.byProtocol(\.udpSendBufferLength) },
    Metric(
      "webrtc_sessions_failed_total", .counter, "WebRTC sessions that ended before media could flow, by reason.",
      by: "reason"
    ) { stream in
      stream.protocols.filter { $0.statistics.viewerList != nil }.flatMap { other in
        WebRTCSessionFailure.allCases.map { ($0.rawValue, other.statistics.sessionsFailed[$0, default: 0]) }
          .sorted { $0.0 < $1.0 }
      }
    },
  ]

  private static let segments: [Metric<StreamMetrics>] = [
    Metric("hls_active", .gauge, "1 while HLS has viewers and segments are made.") { $0.hls.isActive },
    Metric("hls_waiting", .gauge, "Requests waiting for a playlist or part.") { $0.waiting },
    Metric("hls_segments_total", .counter, "HLS segments made.") { $0.hls.segments },
    Metric("hls_parts_total", .counter, "Parts of HLS segments made.") { $0.hls.parts },
    Metric("hls_window_segments", .gauge, "HLS segments in the window.") { $0.hls.windowSegments },
    Metric("hls_window_bytes", .gauge, "Bytes of HLS segments in the window.") { $0.hls.windowBytes },
    Metric("hls_samples_dropped_total", .counter, "Samples dropped by HLS.") { $0.hls.droppedSamples },
    Metric("hls_activations_total", .counter, "Number of times HLS became active.") { $0.hls.activations },
  ]
}

extension Metric<StreamMetrics.RenditionMetrics> {
  /// Metrics of each rendition.
  static let ofRenditions: [Metric<StreamMetrics.RenditionMetrics>] = [
    Metric(
      "rendition_viewers", .gauge,
      "Current viewers of each rendition, by protocol; they are among those of the stream.", by: "protocol"
    ) { $0.viewers },
    Metric("rendition_encoding", .gauge, "1 while the encoder of the rendition is open.") { $0.statistics.isRunning },
    Metric("rendition_bitrate", .gauge, "Target bitrate of the rendition's video, in bits per second.") { $0.bitrate },
    Metric("rendition_starts_total", .counter, "Times that the encoder of the rendition was opened.") {
      $0.statistics.starts
    },
    Metric("rendition_frames_encoded_total", .counter, "Frames of the rendition encoded.") {
      $0.statistics.framesEncoded
    },
    Metric(
      "rendition_frames_dropped_total", .counter, "Frames of the rendition dropped because its encoder was too slow."
    ) { $0.statistics.framesDropped },
    Metric("rendition_encoded_bytes_total", .counter, "Bytes of video produced by the encoder of the rendition.") {
      $0.statistics.bytes
    },
    Metric("rendition_encode_seconds_total", .counter, "Time spent encoding the rendition, in seconds.") {
      $0.statistics.encodeTime
    },
  ]
}

extension Metric<PushStatus> {
  /// Metrics of each push.
  static let ofPushes: [Metric<PushStatus>] = [
    Metric("push_sending", .gauge, "1 while the server of a push takes the stream.") { $0.phase == .sending },
    Metric("push_bitrate", .gauge, "Target bitrate of the video of a push, in bits per second.") { $0.bitrate },
    Metric("push_state", .gauge, "1 for the current state of a push, 0 for the others.", by: "state") { push in
      PushStatus.Phase.names.map { ($0, push.phase.name == $0) }
    },
    Metric("push_failed_attempts", .gauge, "Failed attempts of a push since its server last accepted it.") {
      $0.failedAttempts
    },
    Metric(
      "push_sent_bitrate", .gauge, "Bits per second of audio and video sent by a push during the last second."
    ) { $0.sentBitrate },
    Metric("push_own_encoding", .gauge, "1 while an encoding is made for the push alone.") { $0.hasOwnEncoding },
    Metric("push_queue_seconds", .gauge, "Age of the oldest media of a push that has not left, in seconds.") {
      $0.queueAge
    },
    Metric("push_sent_bytes_total", .counter, "Bytes of media sent by a push.") { $0.sentByteCount },
    Metric(
      "push_frames_dropped_total", .counter, "Video frames of a push dropped because its link was too slow."
    ) { $0.droppedFrames },
    Metric(
      "push_audio_frames_dropped_total", .counter, "Audio frames of a push dropped because its link was too slow."
    ) { $0.droppedAudioFrames },
    Metric("push_reconnects_total", .counter, "Connections of a push after the first that its server accepted.") {
      $0.reconnects
    },
  ]
}

extension Metric<RecordingStatus> {
  /// Metrics of each recorder that all clients see.
  static let ofRecorders: [Metric<RecordingStatus>] = [
    Metric("recording_state", .gauge, "1 for the current state of the recorder, 0 for the others.", by: "state") {
      recording in
      RecordingStatus.State.allCases.map { ($0.rawValue, recording.state == $0) }
    }
  ]

  /// Metrics of each recorder for clients that may list recordings.
  static let ofRecordings: [Metric<RecordingStatus>] = [
    Metric("recording_seconds", .gauge, "Duration of the current or last recording without pauses, in seconds.") {
      $0.duration
    },
    Metric("recording_bytes", .gauge, "Bytes written to the current or last recording.") { $0.byteCount },
    Metric(
      "recording_drops", .gauge,
      "Video and audio frames of the current or last recording lost because the disk was too slow."
    ) { $0.samplesDropped },
  ]
}
