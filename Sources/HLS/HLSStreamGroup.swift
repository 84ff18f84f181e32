public import Media

/// The renditions of one live stream as HLS: the main one, which decides segments and parts, and others, which follow.
///
/// | file | content |
/// |------|------|
/// | `index.m3u8` | multivariant playlist of all renditions |
/// | `live.m3u8`, `playlist.m3u8`, segments | those of the main rendition, for players that use no other |
/// | `main/live.m3u8`, `main/playlist.m3u8`, segments | those of the main rendition among others |
/// | `NAME/live.m3u8`, `NAME/playlist.m3u8`, segments | those of another rendition |
///
/// While a file of the last two kinds is requested, as players of `index.m3u8` do, all renditions are active, so that a player
/// changes between them without waiting: with the main one's segments and numbers, longer parts (``HLSTiming/joined``), and
/// low-latency playlists that report the positions of the others (draft-pantos-hls-rfc8216bis appendix B). Otherwise the main one is as it would be alone.
///
/// A value as ``HLSStream``, with the same duties of its owner.
public struct HLSStreamGroup: Sendable {
  private struct Rendition: Sendable {
    var name: String
    var stream: HLSStream
  }

  /// The rendition whose files have no component in front of their names.
  public private(set) var main: HLSStream
  private var renditions: [Rendition] = []

  /// A group of the main rendition alone.
  public init(_ main: HLSStream) {
    self.main = main
  }

  /// Adds a rendition; without effect where one of its name exists.
  ///
  /// - Parameters:
  ///   - name: First component of its files' addresses.
  ///   - configuration: Its token must be another one than that of the main rendition.
  public mutating func add(_ name: String, _ descriptions: [CodecDescription], configuration: HLSConfiguration) {
    guard !self.has(name), !self.main.isEnded else { return }
    var stream = HLSStream(descriptions, configuration: configuration, follows: true)
    stream.unixTimeAtZero = self.main.unixTimeAtZero
    self.renditions.append(Rendition(name: name, stream: stream))
  }

  /// Puts the renditions in the order of their names in a list, in which playlists name them; those of other names come last.
  public mutating func sort(like names: [String]) {
    func position(_ rendition: Rendition) -> Int { names.firstIndex(of: rendition.name) ?? names.count }
    self.renditions.sort { position($0) < position($1) }
  }

  /// Removes a rendition, whose files are no longer available.
  public mutating func remove(_ name: String) -> HLSEffects {
    self.renditions.removeAll { $0.name == name }
    return HLSEffects(wakesRequests: true)
  }

  /// Changes the configured bitrate of a rendition, in bits per second, for `BANDWIDTH`.
  public mutating func setBitrate(_ bitrate: Int, of name: String) {
    guard let index = self.renditions.firstIndex(where: { $0.name == name }) else { return }
    self.renditions[index].stream.configuration.bitrate = bitrate
  }

  /// Whether there is a rendition of a name beside the main one.
  public func has(_ name: String) -> Bool {
    self.renditions.contains { $0.name == name }
  }

  /// Whether the renditions beside the main one are to be encoded.
  public var areRenditionsActive: Bool {
    self.renditions.contains { $0.stream.isActive }
  }

  /// Whether any rendition has viewers.
  public var isActive: Bool { self.main.isActive || self.areRenditionsActive }

  /// Unix time at the zero of the streams' clock, for segments that start from now on.
  public var unixTimeAtZero: MediaDuration {
    get { self.main.unixTimeAtZero }
    set { self.main.unixTimeAtZero = newValue }
  }

  /// Measured bitrate of the main rendition's encoders in bits per second, for `AVERAGE-BANDWIDTH` until segments are measured;
  /// nil when unknown. Players choose among renditions by it before the first segment.
  public var encoderBitrate: Int? {
    get { self.main.encoderBitrate }
    set { self.main.encoderBitrate = newValue }
  }

  /// Counters of a rendition; nil for the main one.
  public func statistics(of name: String?) -> HLSStatistics? {
    guard let name else { return self.main.statistics }
    return self.renditions.first { $0.name == name }?.stream.statistics
  }

  /// Consumes a sample of the main rendition, or of the audio that all share.
  public mutating func consume(_ sample: EncodedSample, at now: MediaTime) -> HLSEffects {
    self.perform { group in
      var effects = group.main.consume(sample, at: now)
      effects.add(group.follow(at: now))
      if sample.kind == .audio {
        for index in group.renditions.indices where group.renditions[index].stream.isActive {
          effects.add(group.renditions[index].stream.consume(sample, at: now))
        }
      }
      return effects
    }
  }

  /// Consumes a video sample of another rendition.
  public mutating func consume(_ sample: EncodedSample, of name: String, at now: MediaTime) -> HLSEffects {
    guard let index = self.renditions.firstIndex(where: { $0.name == name }) else { return .none }
    return self.perform { $0.renditions[index].stream.consume(sample, at: now) }
  }

  /// Consumes metadata, which the main rendition carries.
  public mutating func consume(_ metadata: TimedMetadata) {
    self.main.consume(metadata)
  }

  /// Continues with other codecs or parameters of one kind, of the main rendition's video or of all renditions' audio.
  public mutating func change(to description: CodecDescription) -> HLSEffects {
    self.perform { group in
      var effects = group.main.change(to: group.main.descriptions.replacing(description))
      effects.add(group.follow(at: nil))
      guard description.kind == .audio else { return effects }
      for index in group.renditions.indices {
        let descriptions = group.renditions[index].stream.descriptions.replacing(description)
        effects.add(group.renditions[index].stream.change(to: descriptions))
      }
      return effects
    }
  }

  /// Continues another rendition with other parameters of its video.
  public mutating func change(to description: CodecDescription, of name: String) -> HLSEffects {
    guard let index = self.renditions.firstIndex(where: { $0.name == name }) else { return .none }
    return self.perform { group in
      group.renditions[index].stream.change(to: group.renditions[index].stream.descriptions.replacing(description))
    }
  }

  /// Discards all segments, see ``HLSStream/discardEarlier()``.
  public mutating func discardEarlier() -> HLSEffects {
    self.perform { group in
      var effects = group.main.discardEarlier()
      _ = group.main.takePlan()
      for index in group.renditions.indices { effects.add(group.renditions[index].stream.discardEarlier()) }
      return effects
    }
  }

  /// Runs the timers of all renditions, see ``HLSStream/advance(to:)``.
  public mutating func advance(to now: MediaTime) -> HLSEffects {
    self.perform { group in
      var effects = HLSEffects.none
      for index in group.renditions.indices { effects.add(group.renditions[index].stream.advance(to: now)) }
      effects.add(group.main.advance(to: now))
      effects.add(group.follow(at: now))
      return effects
    }
  }

  /// Ends the stream, see ``HLSStream/end()``.
  public mutating func end() -> HLSEffects {
    self.perform { group in
      var effects = group.main.end()
      effects.add(group.follow(at: nil))
      for index in group.renditions.indices { effects.add(group.renditions[index].stream.end()) }
      return effects
    }
  }

  /// Stops all renditions, see ``HLSStream/suspend(maximumByteCount:)``. Another process continues the main one; the others follow it
  /// there with new names.
  package mutating func suspend(
    maximumByteCount: Int = HLSSuspendedStreams.maximumByteCount
  ) -> HLSStreamState? {
    let state = self.main.suspend(maximumByteCount: maximumByteCount)
    for index in self.renditions.indices { _ = self.renditions[index].stream.suspend() }
    self.main.isFollowed = false
    return state
  }

  /// Answers a request, see ``HLSStream/respond(to:at:)``.
  ///
  /// - Parameter name: The rendition, ``RenditionName/main`` for the main one among others; nil for the main one alone.
  public mutating func respond(
    to request: HLSRequest, of name: String? = nil, at now: MediaTime
  ) -> (response: HLSResponse, effects: HLSEffects) {
    var response = HLSResponse.notFound
    let effects = self.perform { group in
      var effects = HLSEffects.none
      guard let name else {
        if request.isMultivariantPlaylist { group.listVariants() }
        (response, effects) = group.main.respond(to: request, at: now)
        return effects
      }
      let index = group.renditions.firstIndex { $0.name == name }
      guard index != nil || name == RenditionName.main, !request.isMultivariantPlaylist else { return .none }
      // The main rendition decides the boundaries, and a player may change to any other.
      effects.add(group.main.noteRequest(request, at: now))
      for other in group.renditions.indices where other != index {
        effects.add(group.renditions[other].stream.noteRequest(request, at: now))
      }
      let result = group.respond(to: request, of: index, at: now)
      (response, effects) = (result.response, effects.adding(result.effects))
      // Its playlist has promised the target duration of all.
      if request.isMediaPlaylist, case .content = response { group.main.fixTargets() }
      return effects
    }
    return (response, effects)
  }

  /// - Parameter index: Of the rendition; nil for the main one among others.
  private mutating func respond(to request: HLSRequest, of index: Int?, at now: MediaTime) -> (
    response: HLSResponse, effects: HLSEffects
  ) {
    let reports = request.isMediaPlaylist ? self.reports(for: index) : []
    guard let index else {
      if request.isMediaPlaylist { self.main.reports = reports }
      return self.main.respond(to: request, hasReports: true, at: now)
    }
    if request.isMediaPlaylist { self.renditions[index].stream.reports = reports }
    return self.renditions[index].stream.respond(to: request, hasReports: true, at: now)
  }

  private mutating func perform(_ body: (inout HLSStreamGroup) -> HLSEffects) -> HLSEffects {
    let effects = body(&self)
    self.main.isFollowed = self.areRenditionsActive
    return effects
  }

  /// Passes the main rendition's decisions on.
  private mutating func follow(at now: MediaTime?) -> HLSEffects {
    guard self.main.isFollowed, let plan = self.main.takePlan() else { return .none }
    var effects = HLSEffects.none
    for index in self.renditions.indices { effects.add(self.renditions[index].stream.follow(plan)) }
    return effects
  }

  private mutating func listVariants() {
    // The encoders of the renditions are assumed to need the share of their targets that the main one needs of its own.
    let share = Double(self.main.averageBitrate) / Double(max(1, self.main.configuration.bitrate))
    for index in self.renditions.indices {
      let bitrate = self.renditions[index].stream.configuration.bitrate
      self.renditions[index].stream.encoderBitrate = Int(Double(bitrate) * min(1, share))
    }
    self.main.otherVariants = self.renditions.map {
      $0.stream.variantLine + "\n\($0.name)/live.m3u8\n"
    }
  }

  /// The positions of the other active renditions.
  ///
  /// - Parameter rendition: The one that reports; nil for the main one among others.
  private func reports(for rendition: Int?) -> [HLSRenditionReport] {
    var reports: [HLSRenditionReport] = []
    if rendition != nil, let (number, part) = self.main.lastPart {
      reports.append(HLSRenditionReport(uri: "../\(RenditionName.main)/live.m3u8", number: number, part: part))
    }
    for index in self.renditions.indices where index != rendition {
      guard let (number, part) = self.renditions[index].stream.lastPart else { continue }
      let uri = "../\(self.renditions[index].name)/live.m3u8"
      reports.append(HLSRenditionReport(uri: uri, number: number, part: part))
    }
    return reports
  }
}

extension HLSEffects {
  /// Adds what another call returned.
  mutating func add(_ other: HLSEffects) {
    self.requestsKeyframe = self.requestsKeyframe || other.requestsKeyframe
    self.wakesRequests = self.wakesRequests || other.wakesRequests
  }

  fileprivate func adding(_ other: HLSEffects) -> HLSEffects {
    var effects = self
    effects.add(other)
    return effects
  }
}

extension [CodecDescription] {
  /// The descriptions with that of one kind replaced.
  fileprivate func replacing(_ description: CodecDescription) -> [CodecDescription] {
    self.map { $0.kind == description.kind ? description : $0 }
  }
}
