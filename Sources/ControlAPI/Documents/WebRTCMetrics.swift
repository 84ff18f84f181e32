internal import Media
internal import Serving

extension Metric<WebRTCViewerStatistics> {
  /// Metrics of each viewer over WebRTC.
  static let ofWebRTCViewers: [Metric<WebRTCViewerStatistics>] = [
    Metric(
      "webrtc_viewer_rendition", .gauge, "1 for the rendition that a WebRTC viewer gets; audio without video.",
      by: "rendition"
    ) { [($0.rendition, 1)] },
    Metric("webrtc_viewer_round_trip_seconds", .gauge, "Round trip of a WebRTC viewer, in seconds.") { $0.roundTrip },
    Metric(
      "webrtc_viewer_lost_ratio", .gauge, "Fraction of packets that a WebRTC viewer lost between its last reports."
    ) { $0.fractionLost },
    Metric(
      "webrtc_viewer_estimated_bitrate", .gauge,
      "Bits per second that the network of a WebRTC viewer carries, as far as known."
    ) { $0.estimatedBitrate },
    Metric(
      "webrtc_viewer_queueing_delay_seconds", .gauge,
      "Time that packets wait in queues of the network of a WebRTC viewer, in seconds."
    ) { $0.queueingDelay },
    Metric(
      "webrtc_viewer_packets_sent_total", .counter, "Packets sent to a WebRTC viewer, with those sent again."
    ) { $0.packetsSent },
    Metric(
      "webrtc_viewer_packets_lost_total", .counter, "Packets of video that a WebRTC viewer has missed, by its reports."
    ) { $0.packetsLost },
    Metric("webrtc_viewer_packets_retransmitted_total", .counter, "Packets sent to a WebRTC viewer again.") {
      $0.packetsRetransmitted
    },
    Metric(
      "webrtc_viewer_frames_skipped_total", .counter,
      "Frames not sent to a WebRTC viewer, because its network was too slow."
    ) { $0.framesSkipped },
    Metric("webrtc_viewer_keyframes_requested_total", .counter, "Keyframes that a WebRTC viewer asked for.") {
      $0.keyframesRequested
    },
    Metric(
      "webrtc_viewer_feedback_dropped_total", .counter,
      "Reports and requests of a WebRTC viewer beyond what is read in a second."
    ) { $0.feedbackDropped },
    Metric(
      "webrtc_viewer_datagrams_dropped_total", .counter,
      "Datagrams of a WebRTC viewer that were not authentic, repeated, malformed, or of an address that it has not proved."
    ) { $0.datagramsDropped },
  ]
}

extension Metric<WebRTCPublisherStatistics> {
  /// Metrics of each stream of the source `whip:`.
  static let ofPublishers: [Metric<WebRTCPublisherStatistics>] = [
    Metric("webrtc_publisher_live", .gauge, "1 while a WebRTC publisher sends media.") { $0.isLive },
    Metric("webrtc_publisher_round_trip_seconds", .gauge, "Round trip to the WebRTC publisher, in seconds.") {
      $0.roundTrip
    },
    Metric(
      "webrtc_publisher_received_bytes_total", .counter, "Bytes that arrived from WebRTC publishers."
    ) { $0.bytesReceived },
    Metric(
      "webrtc_publisher_packets_received_total", .counter,
      "Packets that arrived from WebRTC publishers, those sent again included."
    ) { $0.packetsReceived },
    Metric(
      "webrtc_publisher_datagrams_dropped_total", .counter,
      "Datagrams of WebRTC publishers that were not authentic, repeated, malformed, not agreed on, or too many."
    ) { $0.datagramsDropped },
    Metric(
      "webrtc_publisher_packets_lost_total", .counter, "Packets of WebRTC publishers that did not arrive in time."
    ) { $0.packetsLost },
    Metric(
      "webrtc_publisher_packets_recovered_total", .counter,
      "Packets of WebRTC publishers that arrived in time after a request."
    ) { $0.packetsRecovered },
    Metric("webrtc_publisher_frames_received_total", .counter, "Complete frames of WebRTC publishers.") {
      $0.framesReceived
    },
    Metric(
      "webrtc_publisher_frames_dropped_total", .counter,
      "Frames of WebRTC publishers that were incomplete, undecodable or too large."
    ) { $0.framesDropped },
    Metric(
      "webrtc_publisher_keyframes_requested_total", .counter, "Keyframes that WebRTC publishers were asked for."
    ) { $0.keyframesRequested },
    Metric(
      "webrtc_publisher_attempts_total", .counter, "Attempts to publish over WebRTC, by result.", by: "result"
    ) {
      [
        ("opened", $0.sessionsOpened), ("replaced", $0.sessionsReplaced), ("taken_over", $0.sessionsTakenOver),
        ("refused", $0.attemptsRefused),
      ]
    },
  ]
}
