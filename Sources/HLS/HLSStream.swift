internal import Containers
public import Media
internal import NIOCore

/// One live stream as HLS: takes encoded samples, cuts and muxes them, keeps the bounded window, answers requests.
///
/// | file | what |
/// |------|------|
/// | `index.m3u8`    | multivariant playlist, of the next one alone |
/// | `live.m3u8`     | low-latency playlist of fMP4 segments and parts, draft-pantos-hls-rfc8216bis |
/// | `playlist.m3u8` | MPEG-TS segments, which every player knows |
/// | `TOKEN-17.ts`, `TOKEN-17.m4s` | the segment of this media sequence number, in both |
/// | `TOKEN-17.3.m4s` | a part of it, counted from 0 |
/// | `TOKEN-init1.mp4` | what decoders must know first |
///
/// It is a value without clock, thread or socket; its owner guards it with a lock. The owner hands over every sample,
/// asks for answers, calls ``advance(to:)`` at ``deadline``, and does what the returned ``HLSEffects`` say. All times are
/// those of the streams' clock.
///
/// Nobody asks for a playlist: it rests, and a sample costs nothing. The first request sets it to work and asks for a
/// keyframe; ``HLSConfiguration/idleTime`` after the last request it rests again and forgets everything but the
/// numbers, which go on for as long as the value lives.
public struct HLSStream: Sendable {
  /// What it was told.
  public let configuration: HLSConfiguration
  /// What decoders must know of each track.
  public private(set) var descriptions: [CodecDescription]

  private(set) var timing: HLSTiming {
    didSet {
      self.window.timing = self.timing
      self.segmenter?.timing = self.timing
    }
  }
  var window: HLSWindow
  private(set) var isEnded = false
  private var variant: HLSVariant
  private var segmenter: HLSSegmenter?
  private var transportStream: TransportStreamMuxer
  private var fragments: FragmentedMP4Muxer
  /// The number of the initialization segment; a new one with each change.
  private var initialization = 1
  private var initializationBytes: ByteBuffer
  /// Whether there were segments that are forgotten.
  private var hasHistory = false
  private var lastRequest: MediaTime?
  private var counts = HLSStatistics()
  private var bitrates = HLSBitrates()
  /// Playlists since the last change.
  private var playlists: [HLSPlaylistKind: HLSContent] = [:]
  /// What changes with the playlists.
  private var revision = 0

  /// A stream that rests.
  ///
  /// - Parameter descriptions: At least one track; of each kind the first counts.
  public init(_ descriptions: [CodecDescription], configuration: HLSConfiguration) {
    self.configuration = configuration
    self.descriptions = descriptions
    self.timing = HLSTiming(descriptions)
    self.window = HLSWindow(timing: self.timing, maximumBytes: configuration.maximumBytes)
    self.variant = HLSVariant(descriptions)
    self.transportStream = TransportStreamMuxer(descriptions)
    self.fragments = FragmentedMP4Muxer(descriptions)
    self.initializationBytes = self.fragments.initializationSegment(hasEvents: true)
  }

  /// What it has done and holds.
  public var statistics: HLSStatistics {
    var statistics = self.counts
    statistics.isActive = self.isActive
    statistics.windowSegments = self.window.segments.count
    statistics.windowBytes = self.window.byteCount
    statistics.droppedSamples +=
      (self.segmenter?.droppedSamples ?? 0) + self.transportStream.skippedSampleCount
      + self.fragments.skippedSampleCount
    return statistics
  }

  /// Whether somebody watches, so that samples are muxed.
  public var isActive: Bool { self.segmenter != nil }

  /// When ``advance(to:)`` is to be called if nothing else is before; nil while there is nothing to do. It changes with
  /// each call.
  public var deadline: MediaTime? {
    guard let segmenter else { return nil }
    let idle = self.lastRequest.map { $0 + self.configuration.idleTime }
    return [segmenter.requestDue, idle].compactMap { $0 }.min()
  }

  /// Takes a sample, in order of decoding for each kind; the kinds may be some hundred milliseconds out of step.
  public mutating func consume(_ sample: EncodedSample, at now: MediaTime) -> HLSEffects {
    guard self.segmenter != nil else { return .none }
    var effects = self.advance(to: now)
    if let cuts = self.segmenter?.append(sample), self.perform(cuts) { effects.wakesRequests = true }
    if self.segmenter?.requestsKeyframe(at: now) == true { effects.requestsKeyframe = true }
    return effects
  }

  /// Takes what is told of a moment, in order of time and before the picture of that moment. MPEG-TS has it from the
  /// segment on that starts after the first one.
  public mutating func consume(_ metadata: TimedMetadata) {
    self.transportStream.carriesMetadata = true
    self.segmenter?.append(metadata)
  }

  /// Does what is due without a sample: asks for a keyframe when no picture comes, rests when nobody asks.
  public mutating func advance(to now: MediaTime) -> HLSEffects {
    guard self.segmenter != nil else { return .none }
    if let lastRequest, now - lastRequest >= self.configuration.idleTime {
      self.rest()
      return HLSEffects(wakesRequests: true)
    }
    return HLSEffects(requestsKeyframe: self.segmenter?.requestsKeyframe(at: now) ?? false)
  }

  /// Goes on with other codecs or parameters: what is there becomes a segment, the next one starts with a discontinuity
  /// and a keyframe. The samples that follow have the new parameters; equal descriptions change nothing.
  ///
  /// Target durations stay what they are while somebody watches, since they may not change (RFC 8216 §6.2.1). There is one
  /// exception: where keyframes come when the source likes, a segment may turn out longer, and the target duration is
  /// raised to it. Players read it with each playlist, and a segment that is longer than told is worse for them.
  public mutating func change(to descriptions: [CodecDescription]) -> HLSEffects {
    guard descriptions != self.descriptions, !self.isEnded else { return .none }
    let isActive = self.isActive
    if let cuts = self.segmenter?.interrupt() { _ = self.perform(cuts) }
    if !isActive { self.timing = HLSTiming(descriptions) }
    self.descriptions = descriptions
    self.variant = HLSVariant(descriptions)
    self.transportStream.change(to: descriptions)
    self.fragments.change(to: descriptions)
    self.initialization += 1
    self.initializationBytes = self.fragments.initializationSegment(hasEvents: true)
    self.invalidate()
    guard isActive else { return .none }
    self.stopSegmenter()
    self.segmenter = HLSSegmenter(descriptions, timing: self.timing, startSegments: 1, isDiscontinuous: true)
    return HLSEffects(requestsKeyframe: true, wakesRequests: true)
  }

  /// The stream has ended: what is there becomes the last segment, and the playlists say that nothing follows.
  public mutating func end() -> HLSEffects {
    guard !self.isEnded else { return .none }
    if let cuts = self.segmenter?.interrupt() { _ = self.perform(cuts) }
    self.isEnded = true
    self.stopSegmenter()
    self.invalidate()
    return HLSEffects(wakesRequests: true)
  }
}

extension HLSStream {
  /// Notes that somebody watches; sets a stream that rests to work.
  mutating func noteRequest(_ request: HLSRequest, at now: MediaTime) -> HLSEffects {
    self.lastRequest = self.lastRequest.map { max($0, now) } ?? now
    guard request.isPlaylist, self.segmenter == nil, !self.isEnded else { return .none }
    self.counts.activations += 1
    var segmenter = HLSSegmenter(
      self.descriptions, timing: self.timing, startSegments: self.configuration.startSegments,
      isDiscontinuous: self.hasHistory)
    let requestsKeyframe = segmenter.requestsKeyframe(at: now)
    self.segmenter = segmenter
    self.invalidate()
    return HLSEffects(requestsKeyframe: requestsKeyframe)
  }

  /// A playlist, written at most once for each state of the window; nil for a delta update that would skip nothing.
  mutating func playlist(_ kind: HLSPlaylistKind, caching: HLSContent.Caching) -> HLSContent? {
    if var content = self.playlists[kind] {
      content.caching = caching
      return content
    }
    let playlist = HLSPlaylist(
      token: self.configuration.token, timing: self.timing, window: self.window, isEnded: self.isEnded)
    let text: String?
    switch kind {
    case .multivariant:
      let measured = self.bitrates
      let expected = self.configuration.bitrate
      text = self.variant.playlist(
        peakBitrate: max(measured.peak, expected + expected / 2), averageBitrate: measured.average ?? expected)
    case .transportStream: text = playlist.transportStream()
    case .lowLatency: text = playlist.lowLatency(isDelta: false)
    case .delta: text = playlist.lowLatency(isDelta: true)
    }
    guard let text else { return nil }
    let content = HLSContent(
      body: ByteBuffer(string: text), mediaType: HLSContent.playlistType, caching: caching,
      etag: "\"\(self.configuration.token)-\(kind.rawValue)\(self.revision)\"")
    self.playlists[kind] = content
    return content
  }

  /// Whether requests may be held for longer.
  var isShortOfKeyframes: Bool { self.segmenter?.isShortOfKeyframes ?? false }

  /// Nobody watches.
  private mutating func rest() {
    if self.window.nextNumber > 0 { self.hasHistory = true }
    self.stopSegmenter()
    self.window.removeAll()
    self.invalidate()
  }

  private mutating func stopSegmenter() {
    self.counts.droppedSamples += self.segmenter?.droppedSamples ?? 0
    self.segmenter = nil
  }

  /// A part of a span in which nothing was captured: a box of free space, ISO/IEC 14496-12 §8.1.2, since a file without
  /// bytes reads as a failure.
  private static let emptyPart = ByteBuffer(bytes: [0, 0, 0, 8, 0x66, 0x72, 0x65, 0x65])

  private mutating func invalidate() {
    self.revision += 1
    self.playlists.removeAll(keepingCapacity: true)
  }

  /// - Returns: Whether there is something new to fetch.
  private mutating func perform(_ cuts: [HLSSegmenterAction]) -> Bool {
    var isNew = false
    for cut in cuts {
      switch cut {
      case .start(let time, let isDiscontinuous):
        var head = ByteBuffer()
        self.transportStream.startSegment(into: &head)
        self.window.start(
          at: time, unixTime: self.configuration.unixTimeAtZero.adding(time), isDiscontinuous: isDiscontinuous,
          initialization: self.initialization, self.initializationBytes, transportStream: head)
      case .part(let part):
        isNew = true
        self.counts.parts += 1
        var body = self.fragments.fragment(part.samples, events: part.metadata)
        if body.readableBytes == 0 { body = Self.emptyPart }
        self.window.append(
          HLSPart(duration: part.end - part.start, isIndependent: part.isIndependent, body: body), until: part.end
        ) { buffer in
          self.transportStream.mux(part.samples, metadata: part.metadata, into: &buffer)
        }
      case .end:
        isNew = true
        self.window.end { self.transportStream.flush(into: &$0) }
        if let last = self.window.segments.last {
          self.counts.segments += 1
          self.bitrates.add(bytes: last.fragments.readableBytes, duration: last.duration)
          var raised = self.timing
          // One that was ended without a keyframe says nothing of those that follow.
          if last.duration < self.timing.longestWithoutKeyframe, raised.raise(to: last.duration) {
            self.timing = raised
          }
        }
      }
    }
    if isNew { self.invalidate() }
    return isNew
  }
}

extension MediaDuration {
  /// This span and the clock's at a time, clamped.
  fileprivate func adding(_ time: MediaTime) -> MediaDuration {
    (time + self) - .zero
  }
}

/// The playlists that are kept once written.
enum HLSPlaylistKind: String, Hashable, Sendable {
  case multivariant = "m"
  case transportStream = "t"
  case lowLatency = "l"
  case delta = "d"
}
