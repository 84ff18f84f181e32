internal import Media
internal import NIOCore

extension HLSStream {
  /// A playlist, written once per state of the window; nil for a delta update that would skip nothing.
  mutating func playlist(_ kind: HLSPlaylistKind, caching: HLSContent.Caching) -> HLSContent? {
    if var content = self.playlists[kind] {
      content.caching = caching
      return content
    }
    let playlist = HLSPlaylist(
      token: self.configuration.token, timing: self.timing, window: self.window, isEnded: self.isEnded,
      hasIndependentSegments: self.hasIndependentSegments,
      // Of all renditions; this one's own parts are joined already when it follows.
      partHoldBack: kind.hasReports && !self.follows ? self.timing.joined.partHoldBack : self.timing.partHoldBack,
      reports: kind.hasReports ? self.reports : [])
    let text: String?
    switch kind {
    case .multivariant:
      text = HLSVariant.playlist(
        line: self.variantLine, others: self.otherVariants, hasIndependentSegments: self.hasIndependentSegments)
    case .transportStream: text = playlist.transportStream()
    case .lowLatency, .reportingLowLatency: text = playlist.lowLatency(isDelta: false)
    case .delta, .reportingDelta: text = playlist.lowLatency(isDelta: true)
    }
    guard let text else { return nil }
    let revision = kind.hasReports ? "\(self.revision).\(self.reportRevision)" : "\(self.revision)"
    let content = HLSContent(
      body: ByteBuffer(string: text), mediaType: HLSContent.playlistType, caching: caching,
      etag: "\"\(self.configuration.token)-\(kind.rawValue)\(revision)\"")
    self.playlists[kind] = content
    return content
  }

  /// The tag of this variant in a multivariant playlist.
  var variantLine: String {
    self.variant.line(
      peakBitrate: max(self.bitrates.peak, self.expectedPeakBitrate), averageBitrate: self.averageBitrate)
  }

  /// Bitrate of the largest segment to expect, in bits per second: that of similar content with the same settings, as
  /// draft-pantos-hls-rfc8216bis §4.4.6.2 recommends while segments are to come. It is not the encoder's limit, of which a quiet
  /// scene needs a tenth: hls.js measures at most four times the bitrate of a low-latency stream, since it counts at least 50 ms
  /// for each part of 0.2 s, chooses a variant by 0.7 of that, and would leave this one.
  private var expectedPeakBitrate: Int {
    let (average, configured) = (self.averageBitrate, self.configuration.bitrate)
    return average < configured ? min(average * 2, configured + configured / 2) : average + average / 2
  }

  /// Average bitrate in bits per second: of the segments, else of the encoders, else the configured one.
  var averageBitrate: Int {
    self.bitrates.average ?? self.encoderBitrate ?? self.configuration.bitrate
  }

  /// Forgets the written playlists, since the window has changed.
  mutating func invalidate() {
    self.revision += 1
    self.playlists.removeAll(keepingCapacity: true)
  }

  /// Forgets the written playlists that carry the positions of other renditions.
  mutating func invalidateReports() {
    self.reportRevision += 1
    self.playlists[.reportingLowLatency] = nil
    self.playlists[.reportingDelta] = nil
  }
}

/// Kinds of cached playlists; raw values are part of the `ETag`.
enum HLSPlaylistKind: String, Hashable, Sendable {
  case multivariant = "m"
  case transportStream = "t"
  case lowLatency = "l"
  case delta = "d"
  case reportingLowLatency = "L"
  case reportingDelta = "D"

  static func lowLatency(hasReports: Bool) -> HLSPlaylistKind { hasReports ? .reportingLowLatency : .lowLatency }
  static func delta(hasReports: Bool) -> HLSPlaylistKind { hasReports ? .reportingDelta : .delta }

  /// Whether it carries the positions of other renditions.
  var hasReports: Bool { self == .reportingLowLatency || self == .reportingDelta }
}
