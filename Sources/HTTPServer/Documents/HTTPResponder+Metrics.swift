internal import Authentication
internal import Capture
internal import Effects
internal import HLS
internal import Media
internal import Pushing
internal import Recording
internal import Serving
internal import StreamControl
internal import Streaming
internal import Threading

extension HTTPResponder {
  /// Counters of one stream, read once per response.
  private struct StreamMetrics {
    var name: String
    var statistics: StreamStatistics
    var hls: HLSStatistics
    /// Waiting HLS requests.
    var waiting: Int
    var jpeg: SnapshotStatistics
    var kinds: [MediaKind]
    /// Further renditions of the stream, with their viewers by protocol.
    var renditions: [(name: String, bitrate: Int, statistics: RenditionStatistics, viewers: [(String, Int)])]
    /// Viewers by protocol.
    var viewers: [(String, Int)]
    /// Bytes sent by protocol.
    var bytes: [(String, Int)]
    /// Frames skipped by protocol.
    var skipped: [(String, Int)]
    /// Viewers closed as slow by protocol.
    var closed: [(String, Int)]
    /// Datagrams dropped by protocol.
    var datagramsDropped: [(String, Int)]
    /// Maximum lag of event loops by protocol.
    var loopLags: [(String, MediaDuration)]
    /// Granted lengths of send buffers for UDP by protocol.
    var sendBuffers: [(String, Int)]
    /// Viewers over WebRTC, with what is measured of their networks.
    var viewerList: [WebRTCViewerStatistics]
    /// Sessions of WebRTC that ended before media could flow, by reason.
    var sessionsFailed: [(reason: String, count: Int)]
    /// WebRTC publishers of the stream; nil where the source is another one.
    var publisher: WebRTCPublisherStatistics?
    /// Pushes of the stream.
    var pushes: [PushReport]
    /// nil without a recorder.
    var recording: RecordingControl.Status?

    init(_ published: PublishedStream, providers: HTTPServerProviders, at now: MediaTime) {
      self.name = published.name
      self.statistics = published.stream.statistics
      self.hls = published.hls.statistics
      self.waiting = published.hls.waitingCount
      self.jpeg = published.stream.snapshots.statistics
      self.kinds = published.stream.descriptions.map(\.kind)
      self.renditions = published.stream.renditions.map { rendition in
        let others = providers.renditionStatistics(rendition).map { ($0.name, $0.statistics.viewers) }
        let viewers = [("hls", published.hlsViewers(of: rendition.name, at: now))] + others
        return (rendition.name, rendition.bitrate, rendition.statistics, viewers)
      }
      let others = providers.statistics(published.stream)
      self.viewers = [PublishedStream.Content.hls, .mjpeg].map { ($0.rawValue, published.viewers(of: $0, at: now)) }
      self.viewers += others.map { ($0.name, $0.statistics.viewers) }
      self.bytes = PublishedStream.Content.allCases.map { ($0.rawValue, published.bytesSent(of: $0)) }
      self.bytes += others.map { ($0.name, $0.statistics.bytesSent) }
      self.recording = providers.controls(published.stream).recording?.status()
      self.publisher = providers.publisher(published.stream)
      self.pushes = providers.controls(published.stream).pushes?.reports() ?? []
      self.skipped = others.map { ($0.name, $0.statistics.framesSkipped) }
      self.closed = others.map { ($0.name, $0.statistics.viewersClosedAsSlow) }
      self.datagramsDropped = others.filter { $0.statistics.udpSendBufferLength != nil }
        .map { ($0.name, $0.statistics.datagramsDropped) }
      self.loopLags = others.map { ($0.name, $0.statistics.loopLag) }
      self.viewerList = others.flatMap { $0.statistics.viewerList ?? [] }
      self.sessionsFailed = others.filter { $0.statistics.viewerList != nil }.flatMap { other in
        WebRTCSessionFailure.allCases.map { ($0.rawValue, other.statistics.sessionsFailed[$0, default: 0]) }
          .sorted { $0.0 < $1.0 }
      }
      self.sendBuffers = others.compactMap { other in other.statistics.udpSendBufferLength.map { (other.name, $0) } }
    }
  }

  /// The text of `/metrics`.
  ///
  /// - Parameter user: Clients that may not list recordings learn only that there is one.
  func metricsText(for user: HTTPUser) -> String {
    let now = self.clock.now()
    let streams = self.streams.all.map { StreamMetrics($0, providers: self.providers, at: now) }
    var text = MetricsText()
    text.append("streams", .gauge, "Published streams.", streams.count)
    Self.appendPipelines(of: streams, to: &text)
    Self.appendRenditions(of: streams, to: &text)
    Self.appendViewers(of: streams, to: &text)
    Self.appendWebRTCViewers(of: streams, to: &text)
    text.appendPublishers(streams.compactMap { stream in stream.publisher.map { (stream.name, $0) } })
    Self.appendSegments(of: streams, to: &text)
    Self.appendPushes(of: streams, to: &text)
    Self.appendRecordings(of: streams, withDetails: self.mayReadRecordings(user), to: &text)
    text.append("http_connections", .gauge, "Open HTTP connections.", self.connections.count)
    let registry = self.connections.registry
    text.append(
      "connections", .gauge, "Open connections of HTTP, RTSP and RTMP, and further streams of HTTP/2.", registry.count)
    text.append("connections_maximum", .gauge, "Maximum number of open connections.", registry.maximumCount)
    text.append(
      "refusals_total", .counter, "Requests, connections and datagrams refused, by reason.",
      registry.refusals.all.map { (["reason": $0.reason.rawValue], Double($0.count)) })
    text.append(
      "accept_failures_total", .counter,
      "Times that no connection was accepted for a second because the system had no descriptor or memory.",
      registry.acceptFailures)
    text.append(
      "clock_steps_total", .counter, "Steps of the machine's clock: it was set, or the machine slept.",
      self.clock.stepCount)
    text.append(
      "image_upload_bytes", .gauge, "Memory of the images being uploaded, in bytes.", self.imageUploads.byteCount)
    text.append(
      "http_connections_timed_out_total", .counter, "HTTP connections closed because the client was too slow.",
      self.connections.timedOut)
    text.append(
      "http_requests_total", .counter, "HTTP responses, by status class.",
      self.counters.responses.map { (["code": $0.statusClass], Double($0.count)) })
    return text.text
  }

  private static func appendPipelines(of streams: [StreamMetrics], to text: inout MetricsText) {
    func each(_ value: (StreamMetrics) -> Double) -> [(labels: KeyValuePairs<String, String>, value: Double)] {
      streams.map { (["stream": $0.name], value($0)) }
    }
    func byKind(
      _ value: (StreamMetrics, MediaKind) -> Double
    ) -> [(labels: KeyValuePairs<String, String>, value: Double)] {
      streams.flatMap { stream in
        stream.kinds.map { (["stream": stream.name, "kind": $0.rawValue], value(stream, $0)) }
      }
    }
    text.append(
      "encoders", .gauge, "Open encoders of a stream, independent of the number of viewers and protocols.",
      byKind { Double($1 == .video ? $0.statistics.videoEncoders : $0.statistics.audioEncoders) })
    text.append(
      "frames_in_total", .counter, "Frames received from the source.", each { Double($0.statistics.framesIn) })
    text.append(
      "frames_encoded_total", .counter, "Frames encoded, slates included.",
      each { Double($0.statistics.framesEncoded) })
    text.append(
      "frames_passed_through_total", .counter,
      "Compressed video frames of the source passed through without transcoding.",
      each { Double($0.statistics.framesPassedThrough) })
    text.append(
      "audio_frames_passed_through_total", .counter,
      "Compressed audio frames of the source passed through without transcoding.",
      each { Double($0.statistics.audioFramesPassedThrough) })
    text.append(
      "frames_dropped_total", .counter, "Frames dropped, by reason.",
      streams.flatMap { stream in
        FrameDrop.Reason.allCases.map {
          (
            ["stream": stream.name, "reason": $0.rawValue],
            Double(stream.statistics.framesDropped[$0, default: 0])
          )
        }
      })
    text.append(
      "face_detection_restarts_total", .counter,
      "Times that the search for faces of privacy mode missed its deadline or failed, and was started again; frames are "
        + "covered meanwhile.",
      streams.flatMap { stream in
        [("stalled", \EffectStatistics.detectionStalls), ("failed", \.detectionFailures)].map { reason, count in
          (
            ["stream": stream.name, "reason": reason],
            Double(stream.statistics.effects.reduce(0) { $0 + $1[keyPath: count] })
          )
        }
      })
    text.append(
      "keyframes_total", .counter, "Keyframes encoded.",
      each { Double($0.statistics.keyframes) })
    text.append(
      "keyframe_requests_total", .counter, "Keyframes requested by outputs.",
      each { Double($0.statistics.keyframeRequests) })
    text.append(
      "encoded_bytes_total", .counter, "Bytes produced by the encoders.",
      byKind { Double($1 == .video ? $0.statistics.videoBytes : $0.statistics.audioBytes) })
    text.append(
      "encode_seconds_total", .counter, "Time spent encoding, in seconds.",
      byKind { ($1 == .video ? $0.statistics.videoEncodeTime : $0.statistics.audioEncodeTime).seconds })
    text.append(
      "queued", .gauge, "Video frames and audio blocks waiting for their encoder.",
      byKind { Double($1 == .video ? $0.statistics.videoFramesQueued : $0.statistics.audioBlocksQueued) })
    text.append(
      "slate_shown", .gauge, "1 while the slate is shown because the source delivers no frames.",
      each { $0.statistics.isSlateShown ? 1 : 0 })
    text.append(
      "jpeg_encoded_total", .counter, "JPEG images encoded for snapshots and motion JPEG.",
      each { Double($0.jpeg.imagesEncoded) })
    text.append(
      "jpeg_encode_seconds_total", .counter, "Time spent encoding JPEG images, in seconds.",
      each { $0.jpeg.encodeTime.seconds })
  }

  private static func appendRenditions(of streams: [StreamMetrics], to text: inout MetricsText) {
    func each(
      _ value: (RenditionStatistics) -> Double
    ) -> [(labels: KeyValuePairs<String, String>, value: Double)] {
      streams.flatMap { stream in
        stream.renditions.map { (["stream": stream.name, "rendition": $0.name], value($0.statistics)) }
      }
    }
    text.append(
      "rendition_viewers", .gauge,
      "Current viewers of each rendition, by protocol; they are among those of the stream.",
      streams.flatMap { stream in
        stream.renditions.flatMap { rendition in
          rendition.viewers.map {
            (["stream": stream.name, "rendition": rendition.name, "protocol": $0.0], Double($0.1))
          }
        }
      })
    text.append(
      "rendition_encoding", .gauge, "1 while the encoder of the rendition is open.", each { $0.isRunning ? 1 : 0 })
    text.append(
      "rendition_bitrate", .gauge, "Target bitrate of the rendition's video, in bits per second.",
      streams.flatMap { stream in
        stream.renditions.map { (["stream": stream.name, "rendition": $0.name], Double($0.bitrate)) }
      })
    text.append(
      "rendition_starts_total", .counter, "Times that the encoder of the rendition was opened.",
      each { Double($0.starts) })
    text.append(
      "rendition_frames_encoded_total", .counter, "Frames of the rendition encoded.", each { Double($0.framesEncoded) })
    text.append(
      "rendition_frames_dropped_total", .counter,
      "Frames of the rendition dropped because its encoder was too slow.", each { Double($0.framesDropped) })
    text.append(
      "rendition_encoded_bytes_total", .counter, "Bytes of video produced by the encoder of the rendition.",
      each { Double($0.bytes) })
    text.append(
      "rendition_encode_seconds_total", .counter, "Time spent encoding the rendition, in seconds.",
      each { $0.encodeTime.seconds })
  }

  private static func appendViewers(of streams: [StreamMetrics], to text: inout MetricsText) {
    func byProtocol(
      _ values: (StreamMetrics) -> [(String, Int)]
    ) -> [(labels: KeyValuePairs<String, String>, value: Double)] {
      streams.flatMap { stream in
        values(stream).map { (["stream": stream.name, "protocol": $0.0], Double($0.1)) }
      }
    }
    text.append("viewers", .gauge, "Current viewers, by protocol.", byProtocol(\.viewers))
    text.append("sent_bytes_total", .counter, "Bytes of media sent to viewers, by protocol.", byProtocol(\.bytes))
    text.append(
      "frames_skipped_total", .counter, "Frames not sent to viewers that read too slowly, by protocol.",
      byProtocol(\.skipped))
    text.append(
      "viewers_closed_as_slow_total", .counter, "Viewers closed because they read nothing, by protocol.",
      byProtocol(\.closed))
    text.append(
      "datagrams_dropped_total", .counter, "Datagrams that were not sent to viewers, by protocol.",
      byProtocol(\.datagramsDropped))
    text.append(
      "loop_lag_seconds", .gauge,
      "Maximum time that packets have waited for an event loop, in the last 10 to 20 seconds, by protocol.",
      streams.flatMap { stream in
        stream.loopLags.map { (["stream": stream.name, "protocol": $0.0], $0.1.seconds) }
      })
    text.append(
      "udp_send_buffer_bytes", .gauge, "Length of the send buffer that the system has granted for UDP, by protocol.",
      byProtocol(\.sendBuffers))
  }

  /// Viewers are known by their number: addresses are not listed.
  private static func appendWebRTCViewers(of streams: [StreamMetrics], to text: inout MetricsText) {
    func each(
      _ value: (WebRTCViewerStatistics) -> Double?
    ) -> [(labels: KeyValuePairs<String, String>, value: Double)] {
      streams.flatMap { stream in
        stream.viewerList.compactMap { viewer in
          value(viewer).map { (["stream": stream.name, "viewer": "\(viewer.number)"], $0) }
        }
      }
    }
    text.append(
      "webrtc_viewer_rendition", .gauge, "1 for the rendition that a WebRTC viewer gets; audio without video.",
      streams.flatMap { stream in
        stream.viewerList.map {
          (["stream": stream.name, "viewer": "\($0.number)", "rendition": $0.rendition], 1.0)
        }
      })
    text.append(
      "webrtc_sessions_failed_total", .counter, "WebRTC sessions that ended before media could flow, by reason.",
      streams.flatMap { stream in
        stream.sessionsFailed.map { (["stream": stream.name, "reason": $0.reason], Double($0.count)) }
      })
    text.append(
      "webrtc_viewer_round_trip_seconds", .gauge, "Round trip of a WebRTC viewer, in seconds.",
      each { $0.roundTrip?.seconds })
    text.append(
      "webrtc_viewer_lost_ratio", .gauge, "Fraction of packets that a WebRTC viewer lost between its last reports.",
      each(\.fractionLost))
    text.append(
      "webrtc_viewer_estimated_bitrate", .gauge,
      "Bits per second that the network of a WebRTC viewer carries, as far as known.",
      each { $0.estimatedBitrate.map(Double.init) })
    text.append(
      "webrtc_viewer_packets_sent_total", .counter, "Packets sent to a WebRTC viewer, with those sent again.",
      each { Double($0.packetsSent) })
    text.append(
      "webrtc_viewer_packets_retransmitted_total", .counter, "Packets sent to a WebRTC viewer again.",
      each { Double($0.packetsRetransmitted) })
    text.append(
      "webrtc_viewer_frames_skipped_total", .counter,
      "Frames not sent to a WebRTC viewer, because its network was too slow.", each { Double($0.framesSkipped) })
    text.append(
      "webrtc_viewer_keyframes_requested_total", .counter, "Keyframes that a WebRTC viewer asked for.",
      each { Double($0.keyframesRequested) })
    text.append(
      "webrtc_viewer_feedback_dropped_total", .counter,
      "Reports and requests of a WebRTC viewer beyond what is read in a second.", each { Double($0.feedbackDropped) })
  }

  /// Pushes are known by their number: where a stream is sent to is for operators.
  private static func appendPushes(of streams: [StreamMetrics], to text: inout MetricsText) {
    func each(_ value: (PushStatus) -> Double) -> [(labels: KeyValuePairs<String, String>, value: Double)] {
      streams.flatMap { stream in
        stream.pushes.map { (["stream": stream.name, "push": "\($0.id)"], value($0.status)) }
      }
    }
    text.append(
      "push_sending", .gauge, "1 while the server of a push takes the stream.", each { $0.phase == .sending ? 1 : 0 })
    text.append(
      "push_bitrate", .gauge, "Target bitrate of the video of a push, in bits per second.", each { Double($0.bitrate) })
    text.append(
      "push_state", .gauge, "1 for the current state of a push, 0 for the others.",
      streams.flatMap { stream in
        stream.pushes.flatMap { push in
          PushStatus.Phase.names.map { name in
            (["stream": stream.name, "push": "\(push.id)", "state": name], push.status.phase.name == name ? 1 : 0)
          }
        }
      })
    text.append(
      "push_failed_attempts", .gauge, "Failed attempts of a push since its server last accepted it.",
      each { Double($0.failedAttempts) })
    text.append(
      "push_sent_bitrate", .gauge, "Bits per second of audio and video sent by a push during the last second.",
      each { Double($0.sentBitrate) })
    text.append(
      "push_own_encoding", .gauge, "1 while an encoding is made for the push alone.", each { $0.hasOwnEncoding ? 1 : 0 }
    )
    text.append(
      "push_queue_seconds", .gauge, "Age of the oldest media of a push that has not left, in seconds.",
      each { $0.queueAge.seconds })
    text.append(
      "push_sent_bytes_total", .counter, "Bytes of media sent by a push.", each { Double($0.sentByteCount) })
    text.append(
      "push_frames_dropped_total", .counter, "Video frames of a push dropped because its link was too slow.",
      each { Double($0.droppedFrames) })
    text.append(
      "push_audio_frames_dropped_total", .counter, "Audio frames of a push dropped because its link was too slow.",
      each { Double($0.droppedAudioFrames) })
    text.append(
      "push_reconnects_total", .counter, "Connections of a push after the first that its server accepted.",
      each { Double($0.reconnects) })
  }

  private static func appendSegments(of streams: [StreamMetrics], to text: inout MetricsText) {
    func each(_ value: (HLSStatistics) -> Int) -> [(labels: KeyValuePairs<String, String>, value: Double)] {
      streams.map { (["stream": $0.name], Double(value($0.hls))) }
    }
    text.append(
      "hls_active", .gauge, "1 while HLS has viewers and segments are made.", each { $0.isActive ? 1 : 0 })
    text.append(
      "hls_waiting", .gauge, "Requests waiting for a playlist or part.",
      streams.map { (["stream": $0.name], Double($0.waiting)) })
    text.append("hls_segments_total", .counter, "HLS segments made.", each(\.segments))
    text.append("hls_parts_total", .counter, "Parts of HLS segments made.", each(\.parts))
    text.append("hls_window_segments", .gauge, "HLS segments in the window.", each(\.windowSegments))
    text.append("hls_window_bytes", .gauge, "Bytes of HLS segments in the window.", each(\.windowBytes))
    text.append("hls_samples_dropped_total", .counter, "Samples dropped by HLS.", each(\.droppedSamples))
    text.append("hls_activations_total", .counter, "Number of times HLS became active.", each(\.activations))
  }

  private static func appendRecordings(
    of streams: [StreamMetrics], withDetails hasDetails: Bool, to text: inout MetricsText
  ) {
    let recordings = streams.compactMap { stream in stream.recording.map { (stream.name, $0) } }
    func each(
      _ value: (RecordingControl.Status) -> Double
    ) -> [(labels: KeyValuePairs<String, String>, value: Double)] {
      recordings.map { (["stream": $0.0], value($0.1)) }
    }
    text.append(
      "recording_state", .gauge, "1 for the current state of the recorder, 0 for the others.",
      recordings.flatMap { name, status in
        RecordingStatus.State.allCases.map {
          (["stream": name, "state": $0.rawValue], status.state == $0 ? 1 : 0)
        }
      })
    guard hasDetails else { return }
    text.append(
      "recording_seconds", .gauge, "Duration of the current or last recording without pauses, in seconds.",
      each { $0.duration.seconds })
    text.append(
      "recording_bytes", .gauge, "Bytes written to the current or last recording.", each { Double($0.byteCount) })
    text.append(
      "recording_drops", .gauge,
      "Video and audio frames of the current or last recording lost because the disk was too slow.",
      each { Double($0.drops) })
  }
}
