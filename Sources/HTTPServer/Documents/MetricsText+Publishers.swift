internal import Media
internal import Serving

extension MetricsText {
  /// Appends the WebRTC publishers of streams.
  mutating func appendPublishers(_ publishers: [(stream: String, publisher: WebRTCPublisherStatistics)]) {
    func each(
      _ value: (WebRTCPublisherStatistics) -> Double?
    ) -> [(labels: KeyValuePairs<String, String>, value: Double)] {
      publishers.compactMap { entry in value(entry.publisher).map { (["stream": entry.stream], $0) } }
    }
    self.append(
      "webrtc_publisher_live", .gauge, "1 while a WebRTC publisher sends media.", each { $0.isLive ? 1 : 0 })
    self.append(
      "webrtc_publisher_round_trip_seconds", .gauge, "Round trip to the WebRTC publisher, in seconds.",
      each { $0.roundTrip?.seconds })
    self.append(
      "webrtc_publisher_received_bytes_total", .counter, "Bytes that arrived from WebRTC publishers.",
      each { Double($0.bytesReceived) })
    self.append(
      "webrtc_publisher_packets_received_total", .counter,
      "Packets that arrived from WebRTC publishers, those sent again included.", each { Double($0.packetsReceived) })
    self.append(
      "webrtc_publisher_packets_lost_total", .counter,
      "Packets of WebRTC publishers that did not arrive in time.", each { Double($0.packetsLost) })
    self.append(
      "webrtc_publisher_packets_recovered_total", .counter,
      "Packets of WebRTC publishers that arrived in time after a request.", each { Double($0.packetsRecovered) })
    self.append(
      "webrtc_publisher_frames_received_total", .counter, "Complete frames of WebRTC publishers.",
      each { Double($0.framesReceived) })
    self.append(
      "webrtc_publisher_frames_dropped_total", .counter,
      "Frames of WebRTC publishers that were incomplete, undecodable or too large.",
      each { Double($0.framesDropped) })
    self.append(
      "webrtc_publisher_keyframes_requested_total", .counter, "Keyframes that WebRTC publishers were asked for.",
      each { Double($0.keyframesRequested) })
    self.append(
      "webrtc_publisher_attempts_total", .counter, "Attempts to publish over WebRTC, by result.",
      publishers.flatMap { entry -> [(labels: KeyValuePairs<String, String>, value: Double)] in
        let publisher = entry.publisher
        return [
          ("opened", publisher.sessionsOpened), ("replaced", publisher.sessionsReplaced),
          ("taken_over", publisher.sessionsTakenOver), ("refused", publisher.attemptsRefused),
        ].map { (["stream": entry.stream, "result": $0], Double($1)) }
      })
  }
}
