public import Media

/// One encoding of a stream, as viewers, recordings and pushes choose it: ``LiveStream/main``, or one of ``LiveStream/renditions``,
/// the same frames scaled and encoded again for slower networks.
///
/// Servers, recorders and pushes call it. The encoder of the main rendition runs with the stream, that of another one while it is
/// used and 10 s longer:
///
/// ```swift
/// guard let low = stream.rendition(named: "low") else { return }
/// low.beginUse()
/// low.add(output)
/// ```
public struct Rendition: Sendable {
  /// The stream whose frames it has.
  public let stream: LiveStream
  /// The encoding; nil for the main one.
  package let encoding: RenditionEncoding?

  init(_ encoding: RenditionEncoding?, of stream: LiveStream) {
    self.stream = stream
    self.encoding = encoding
  }

  /// Whether it is the stream's main rendition.
  public var isMain: Bool { self.encoding == nil }

  /// Last component of its addresses; ``RenditionName/main`` for the main one.
  public var name: String { self.encoding?.name ?? RenditionName.main }

  /// Name among the renditions of all streams: `STREAM` for the main one, `STREAM/NAME` for others.
  package var qualifiedName: String { self.encoding.map { "\(self.stream.name)/\($0.name)" } ?? self.stream.name }

  /// Path in addresses: a slash, and the percent-encoded name of the stream, followed by the name of a rendition that is not the main
  /// one.
  public var path: String { LiveStream.path(ofName: self.qualifiedName) }

  /// Size, bitrate at the start, and frame rate; nil for the main one, which has ``LiveStream/videoSettings``.
  public var settings: RenditionSettings? { self.encoding?.settings }

  /// Format of its frames; nil for the main one.
  package var format: VideoFormat? { self.encoding?.format }

  /// Target bitrate of the video in bits per second; a change applies to the next frame.
  public var bitrate: Int {
    get { self.encoding?.bitrate ?? self.stream.videoBitrate }
    nonmutating set {
      if let encoding { encoding.bitrate = newValue } else { self.stream.videoBitrate = newValue }
    }
  }

  /// Bits per second of the video now: those of the encoder, or of the source that is passed through.
  package var currentBitrate: Int { self.encoding?.bitrate ?? self.stream.currentVideoBitrate }

  /// Whether access units of the source are its video: no bitrate can be chosen.
  package var isPassedThrough: Bool { self.isMain && self.stream.isPassedThrough }

  /// Codec configuration of each track, video first. Empty until the stream has started, and, for one that is not the main
  /// rendition, until its encoder was opened for the first time.
  public var descriptions: [CodecDescription] {
    guard let encoding else { return self.stream.descriptions }
    return encoding.description.map { self.descriptions(withVideo: $0) } ?? []
  }

  private func descriptions(withVideo video: CodecDescription) -> [CodecDescription] {
    [video] + self.stream.descriptions.filter { $0.kind == .audio }
  }

  /// Counters since the stream's start; those of the main one are among ``LiveStream/statistics``.
  public var statistics: RenditionStatistics { self.encoding?.statistics ?? self.stream.statistics.main }

  /// Reason why its encoder failed, or that it has ended; nil while it can be used, and once that may be tried again. A stream
  /// whose main rendition fails ends.
  public var failure: VidiconError? {
    if let encoding { return encoding.failure }
    return self.stream.hasEnded ? .streamEnded : nil
  }

  /// Whether its encoder failed the last time that it was opened, or it has ended.
  package var hasFailed: Bool { self.encoding?.hasFailed ?? self.stream.hasEnded }

  /// Requests a keyframe: for a new viewer, a lost frame, a new segment. It falls on the same frame in all renditions; where the main
  /// one is passed through, in all but that.
  public func requestKeyframe() {
    if let encoding { encoding.requestKeyframe() } else { self.stream.requestKeyframe() }
  }

  /// Requests a keyframe of this rendition alone, unless it is the main one, whose keyframes all have.
  package func forceKeyframe() {
    if let encoding { encoding.forceKeyframe() } else { self.stream.requestKeyframe() }
  }

  /// Adds an output, which gets the video and the stream's audio, from a rendition that is not the main one while that is used. It is
  /// ended at once where the rendition has ended or failed.
  public func add(_ output: any StreamOutput) {
    if let encoding { encoding.add(output) } else { self.stream.add(output) }
  }

  /// Removes an output; it may still get samples that are being delivered.
  public func remove(_ output: any StreamOutput) {
    if let encoding { encoding.remove(output) } else { self.stream.remove(output) }
  }

  /// Opens the encoder, unless it is open, and encodes frames until as many calls of ``endUse(lingers:)`` have followed; without
  /// effect on the main one, which is always encoded.
  public func beginUse() {
    self.encoding?.beginUse()
  }

  /// Ends a use.
  ///
  /// - Parameter lingers: Whether the encoder stays open for 10 s.
  public func endUse(lingers: Bool = true) {
    self.encoding?.endUse(lingers: lingers)
  }

  /// Waits for ``descriptions``, for which the encoder is opened unless they are known. A cancelled task waits on.
  ///
  /// - Throws: Why there are none; `timedOut` after 2 s, as where the device hangs while it is opened or at its first frame, or where
  ///   the encoder needs a frame and there is none.
  package func prepare() async throws(VidiconError) -> [CodecDescription] {
    guard let encoding else { return self.stream.descriptions }
    return self.descriptions(withVideo: try await encoding.prepare())
  }

  /// Maximum time for which ``prepare()`` waits, by default.
  package static var preparationTimeout: MediaDuration { RenditionEncoding.preparationTimeout }
}

extension Rendition: Equatable {
  /// Whether both are the same encoding of the same stream; one that was removed and one that was added later under its name are not.
  public static func == (first: Rendition, second: Rendition) -> Bool {
    first.stream === second.stream && first.encoding === second.encoding
  }
}
