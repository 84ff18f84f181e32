internal import Containers
package import Media
internal import NIOCore

/// State of a stream of HLS with which another process continues it, so that its players go on: RFC 8216 §6.2.1 and §6.2.2 let neither
/// the media sequence number decrease nor a listed segment be missing.
///
/// ``HLSStream/suspend(maximumByteCount:)`` makes one; ``HLSSuspendedStreams`` has those of all streams as bytes.
package struct HLSStreamState: Sendable {
  /// Prefix of segment names, which stays: numbers are not used again.
  var token: String
  /// `EXT-X-TARGETDURATION`, which was promised.
  var targetSeconds: Int64
  /// `PART-TARGET`, which was promised.
  var partTarget: MediaDuration
  /// Whether each segment starts with a keyframe, as playlists have said.
  var hasIndependentSegments: Bool
  /// Media sequence number of the next segment.
  var nextNumber: Int
  /// Number of discontinuities of all segments so far.
  var discontinuities: Int
  /// Number of the last initialization segment.
  var initialization: Int
  /// Numbers of changes of the playlists, which their entity tags have.
  var revision: Int
  var reportRevision: Int
  /// Initialization segments by number.
  var initializations: [Int: ByteBuffer] = [:]
  /// Segments that can be fetched, complete, with consecutive numbers up to the next one.
  var segments: [HLSSegment] = []
  /// Number of the first ones among them that are in no playlist any more: players may have just read their names.
  var retiredCount = 0
}

extension HLSStream {
  /// Ends the growing segment, and stops: later segments are those of another process.
  ///
  /// - Parameter maximumByteCount: Maximum number of bytes of all segments; of more the first ones are left out.
  /// - Returns: The state with which that continues; nil where no playlist has been sent, or the stream is inactive.
  package mutating func suspend(maximumByteCount: Int = HLSSuspendedStreams.maximumByteCount) -> HLSStreamState? {
    let isKnown = self.isActive && self.areTargetsFixed && !self.isEnded
    self.interrupt(keepsTarget: true)
    self.stopSegmenter()
    self.invalidate()
    guard isKnown else { return nil }
    var segments = (self.window.retired + self.window.segments)[...]
    // Numbers are consecutive up to the next one: only first segments can be left out, with the ones before them.
    if let last = segments.lastIndex(where: { $0.duration >= self.timing.maximumSegment }) {
      segments = segments[(last + 1)...]
    }
    var byteCount = segments.reduce(0) { $0 + $1.byteCount }
    while byteCount > maximumByteCount, let first = segments.popFirst() { byteCount -= first.byteCount }
    let used = Set(segments.map(\.initialization))
    return HLSStreamState(
      token: self.configuration.token, targetSeconds: self.timing.targetSeconds, partTarget: self.timing.partTarget,
      hasIndependentSegments: self.hasIndependentSegments, nextNumber: self.window.nextNumber,
      discontinuities: self.window.discontinuities, initialization: self.initialization, revision: self.revision,
      reportRevision: self.reportRevision,
      initializations: self.window.initializations.filter { used.contains($0.key) }, segments: Array(segments),
      retiredCount: max(0, segments.count - self.window.segments.count))
  }

  /// Creates an active stream that continues that of another process: its segments stay in the playlists, and the next one follows a
  /// discontinuity.
  ///
  /// Where the codecs have another target duration, or another part target, only names and numbers are continued.
  package init(
    _ descriptions: [CodecDescription], configuration: HLSConfiguration, resuming state: HLSStreamState,
    at now: MediaTime
  ) {
    var configuration = configuration
    configuration.token = state.token
    self.init(descriptions, configuration: configuration)
    self.resume(state, at: now)
  }

  private mutating func resume(_ state: HLSStreamState, at now: MediaTime) {
    (self.revision, self.reportRevision) = (state.revision, state.reportRevision)
    self.initialization = state.initialization + 1
    self.transportStream = TransportStreamMuxer(self.descriptions, isContinuation: true)
    let keepsPromises =
      self.timing.partTarget == state.partTarget && self.timing.targetSeconds <= state.targetSeconds
    if keepsPromises {
      self.timing.targetSeconds = state.targetSeconds
      self.areTargetsFixed = true
      self.hasIndependentSegments = state.hasIndependentSegments
    }
    let segments = keepsPromises ? state.segments : []
    self.window.restore(
      segments, retiredCount: keepsPromises ? state.retiredCount : 0,
      initializations: keepsPromises ? state.initializations : [:], nextNumber: state.nextNumber,
      discontinuities: state.discontinuities)
    for segment in segments {
      self.bitrates.add(bytes: segment.fragments.readableBytes, duration: segment.duration)
    }
    self.activateAgain(at: now, startSegments: self.window.segments.isEmpty ? self.configuration.startSegments : 1)
  }
}
