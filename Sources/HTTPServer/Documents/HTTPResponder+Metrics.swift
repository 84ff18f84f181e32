internal import Capture
internal import HLS
internal import Media
internal import Streaming
internal import Threading

extension HTTPResponder {
  /// What is read once of each stream.
  private struct Numbers {
    var name: String
    var statistics: StreamStatistics
    var hls: HLSStatistics
    /// Requests for HLS that wait.
    var waiting: Int
    var pictures: PictureStatistics
    var kinds: [MediaKind]
    /// By protocol.
    var viewers: [(String, Int)]
    /// By protocol.
    var bytes: [(String, Int)]
    var skipped: [(String, Int)]
    /// Where it has a recorder.
    var recording: HTTPServerRecorder.Status?

    init(_ published: PublishedStream, extras: HTTPServerExtras, at now: MediaTime) {
      self.name = published.name
      self.statistics = published.stream.statistics
      self.hls = published.hls.statistics
      self.waiting = published.hls.waitingCount
      self.pictures = published.stream.pictures.statistics
      self.kinds = published.stream.descriptions.map(\.kind)
      let others = extras.statistics(published.stream)
      self.viewers = [PublishedStream.Content.hls, .mjpeg].map { ($0.rawValue, published.viewers(of: $0, at: now)) }
      self.viewers += others.map { ($0.name, $0.viewers) }
      self.bytes = PublishedStream.Content.allCases.map { ($0.rawValue, published.bytesSent(of: $0)) }
      self.bytes += others.map { ($0.name, $0.bytesSent) }
      self.recording = extras.recorder(published.stream)?.status()
      self.skipped = others.map { ($0.name, $0.picturesSkipped) }
    }
  }

  /// The text of `/metrics`.
  func metricsText() -> String {
    let now = self.clock.now()
    let streams = self.streams.all.map { Numbers($0, extras: self.extras, at: now) }
    var text = MetricsText()
    text.append("streams", .gauge, "Streams that are published.", streams.count)
    Self.appendPipelines(of: streams, to: &text)
    Self.appendViewers(of: streams, to: &text)
    Self.appendSegments(of: streams, to: &text)
    Self.appendRecordings(of: streams, to: &text)
    text.append("http_connections", .gauge, "Open HTTP connections.", self.connections.count)
    text.append(
      "http_connections_crowded_out_total", .counter, "HTTP connections closed since others needed the room.",
      self.connections.crowdedOut)
    text.append(
      "http_connections_timed_out_total", .counter, "HTTP connections closed since the client was too slow.",
      self.connections.timedOut)
    text.append(
      "http_requests_total", .counter, "HTTP requests answered, by the class of the status.",
      self.counters.answers.map { (["code": $0.statusClass], Double($0.count)) })
    return text.text
  }

  private static func appendPipelines(of streams: [Numbers], to text: inout MetricsText) {
    func each(_ value: (Numbers) -> Double) -> [(labels: KeyValuePairs<String, String>, value: Double)] {
      streams.map { (["stream": $0.name], value($0)) }
    }
    func byKind(
      _ value: (Numbers, MediaKind) -> Double
    ) -> [(labels: KeyValuePairs<String, String>, value: Double)] {
      streams.flatMap { stream in
        stream.kinds.map { (["stream": stream.name, "kind": $0.rawValue], value(stream, $0)) }
      }
    }
    text.append(
      "encoders", .gauge, "Encoders of a stream that are open, whatever the number of viewers and protocols.",
      byKind { Double($1 == .video ? $0.statistics.videoEncoders : $0.statistics.audioEncoders) })
    text.append(
      "frames_in_total", .counter, "Pictures that the source handed over.", each { Double($0.statistics.framesIn) })
    text.append(
      "frames_encoded_total", .counter, "Pictures encoded, slates included.",
      each { Double($0.statistics.framesEncoded) })
    text.append(
      "frames_passed_through_total", .counter, "Compressed pictures of the source that were passed on as they came.",
      each { Double($0.statistics.framesPassedThrough) })
    text.append(
      "audio_frames_passed_through_total", .counter, "Packets of the source's sound that were passed on as they came.",
      each { Double($0.statistics.audioFramesPassedThrough) })
    text.append(
      "frames_dropped_total", .counter, "Pictures that were to be shown and are not, by reason.",
      streams.flatMap { stream in
        FrameDrop.Reason.allCases.map {
          (
            ["stream": stream.name, "reason": $0.rawValue],
            Double(stream.statistics.framesDropped[$0, default: 0])
          )
        }
      })
    text.append(
      "keyframes_total", .counter, "Pictures encoded at which decoding can start.",
      each { Double($0.statistics.keyframes) })
    text.append(
      "keyframe_requests_total", .counter, "Requests for such a picture.",
      each { Double($0.statistics.keyframeRequests) })
    text.append(
      "encoded_bytes_total", .counter, "Bytes that the encoders made.",
      byKind { Double($1 == .video ? $0.statistics.videoBytes : $0.statistics.audioBytes) })
    text.append(
      "encode_seconds_total", .counter, "The time that encoding took.",
      byKind { ($1 == .video ? $0.statistics.videoEncodeTime : $0.statistics.audioEncodeTime).seconds })
    text.append(
      "queued", .gauge, "Pictures and blocks of sound that wait for their encoder.",
      byKind { Double($1 == .video ? $0.statistics.videoFramesQueued : $0.statistics.audioBlocksQueued) })
    text.append(
      "slate_shown", .gauge, "1 while viewers see the slate, since the source gives nothing.",
      each { $0.statistics.isSlateShown ? 1 : 0 })
    text.append(
      "jpeg_encoded_total", .counter, "Single pictures made for snapshots and motion JPEG.",
      each { Double($0.pictures.picturesEncoded) })
    text.append(
      "jpeg_encode_seconds_total", .counter, "The time that making them took.",
      each { $0.pictures.encodeTime.seconds })
  }

  private static func appendViewers(of streams: [Numbers], to text: inout MetricsText) {
    func byProtocol(
      _ values: (Numbers) -> [(String, Int)]
    ) -> [(labels: KeyValuePairs<String, String>, value: Double)] {
      streams.flatMap { stream in
        values(stream).map { (["stream": stream.name, "protocol": $0.0], Double($0.1)) }
      }
    }
    text.append("viewers", .gauge, "Viewers now, by protocol.", byProtocol(\.viewers))
    text.append("sent_bytes_total", .counter, "Bytes of media sent to viewers, by protocol.", byProtocol(\.bytes))
    text.append(
      "pictures_skipped_total", .counter, "Pictures not sent to viewers that read too slowly, by protocol.",
      byProtocol(\.skipped))
  }

  private static func appendSegments(of streams: [Numbers], to text: inout MetricsText) {
    func each(_ value: (HLSStatistics) -> Int) -> [(labels: KeyValuePairs<String, String>, value: Double)] {
      streams.map { (["stream": $0.name], Double(value($0.hls))) }
    }
    text.append(
      "hls_active", .gauge, "1 while segments are made, since somebody watches.", each { $0.isActive ? 1 : 0 })
    text.append(
      "hls_waiting", .gauge, "Requests that wait for the playlist or part that they ask for.",
      streams.map { (["stream": $0.name], Double($0.waiting)) })
    text.append("hls_segments_total", .counter, "HLS segments made.", each(\.segments))
    text.append("hls_parts_total", .counter, "Parts of HLS segments made.", each(\.parts))
    text.append("hls_window_segments", .gauge, "HLS segments in the window.", each(\.windowSegments))
    text.append("hls_window_bytes", .gauge, "Bytes of HLS segments that are kept.", each(\.windowBytes))
    text.append("hls_samples_dropped_total", .counter, "Samples that HLS could not use.", each(\.droppedSamples))
    text.append("hls_activations_total", .counter, "How often HLS went from rest to work.", each(\.activations))
  }

  private static func appendRecordings(of streams: [Numbers], to text: inout MetricsText) {
    let recordings = streams.compactMap { stream in stream.recording.map { (stream.name, $0) } }
    func each(
      _ value: (HTTPServerRecorder.Status) -> Double
    ) -> [(labels: KeyValuePairs<String, String>, value: Double)] {
      recordings.map { (["stream": $0.0], value($0.1)) }
    }
    text.append(
      "recording_state", .gauge, "1 for what the stream's recorder is doing, 0 for what it is not.",
      recordings.flatMap { name, status in
        HTTPServerRecorder.State.allCases.map {
          (["stream": name, "state": $0.rawValue], status.state == $0 ? 1 : 0)
        }
      })
    text.append(
      "recording_seconds", .gauge, "The length of the recording, or the last one, pauses not counted.",
      each { $0.duration.seconds })
    text.append("recording_bytes", .gauge, "Bytes that it has written.", each { Double($0.byteCount) })
    text.append(
      "recording_drops", .gauge, "Pictures and frames of sound of it that the disk was too slow for.",
      each { Double($0.drops) })
  }
}
