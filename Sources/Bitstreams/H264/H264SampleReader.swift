package import Media
package import NIOCore

/// Turns the access units of an H.264 stream into the descriptions and payloads of its samples. The receivers of cameras, network
/// sources and publishers have one each: there is one rule for parameter sets and for the start of decoding.
///
/// Parameter sets are remembered wherever they come: in a configuration, with each keyframe, once, late, or one at a time. Those that
/// cannot be parsed are left out. Before the point at which decoding can start there is no frame, see ``H264DecodingStart``.
///
/// ```swift
/// var reader = H264SampleReader(frameRate: 25)
/// if let description = reader.adopt(unit) { consumer.describe(description) }
/// if case .frame(let payload, let isStart) = reader.read(unit, isMarked: false, at: time) { … }
/// ```
package struct H264SampleReader: Sendable {
  /// Content of an access unit.
  package enum Content: Hashable, Sendable {
    /// The payload of a sample, behind all parameter sets where the stream uses several of a kind and decoding can start here.
    case frame(payload: ByteBuffer, isStart: Bool)
    /// No slice: parameter sets, delimiters or nothing.
    case empty
    /// A frame before the start of decoding; the number of such frames where the start has not come for long, once.
    case early(missing: Int?)
  }

  /// Plausible frame rates; others are mistakes of encoders.
  private static let plausibleFrameRates = 0.1...240

  /// Description of the parameter sets; nil until there is one of each.
  package private(set) var description: H264Description?
  /// Frame rate of descriptions whose sequence parameter set has none, or an implausible one.
  package var frameRate: FrameRate
  private var parameterSets: H264ParameterSets
  private var start = H264DecodingStart()

  /// A reader before the first access unit.
  ///
  /// - Parameters:
  ///   - parameterSets: Those of a configuration.
  ///   - frameRate: See ``frameRate``.
  package init(_ parameterSets: H264ParameterSets = H264ParameterSets(), frameRate: FrameRate) {
    self.parameterSets = parameterSets
    self.frameRate = frameRate
    _ = try? self.describe()
  }

  /// Whether one pair of parameter sets describes the stream, as outputs need.
  package var isOnePair: Bool {
    !self.parameterSets.areSeveral && !self.parameterSets.hasUnreadable && (self.isDescribed || self.description == nil)
  }

  /// Whether the description is that of the parameter sets.
  private var isDescribed: Bool {
    guard let description, let pair = self.parameterSets.pair else { return false }
    return description.sequenceParameterSet == pair.sequence && description.pictureParameterSet == pair.pictureSet
  }

  /// Whether decoding has started at an IDR picture, so that another start can be waited for after a loss.
  package var isAtKeyframe: Bool { self.start.isAtKeyframe }

  /// Replaces all parameter sets.
  ///
  /// - Returns: The new description; nil where it is known.
  /// - Throws: `.missing` where they are no pair, and errors of the parsers; the description is that of before.
  package mutating func replace(_ parameterSets: H264ParameterSets) throws(ParsingError) -> H264Description? {
    self.parameterSets = parameterSets
    return try self.describe()
  }

  /// Stores the parameter sets of the next access unit, which ``read(_:isMarked:at:)`` then reads.
  ///
  /// - Returns: The first or a new description; nil where it is known, or there is no pair yet.
  package mutating func adopt(_ unit: H264AccessUnit) -> H264Description? {
    guard !unit.sequenceParameterSets.isEmpty || !unit.pictureParameterSets.isEmpty else { return nil }
    self.parameterSets.adopt(unit)
    // As with each keyframe of most encoders.
    if self.isDescribed { return nil }
    return (try? self.describe()) ?? nil
  }

  /// Reads an access unit, the parameter sets of which are adopted.
  ///
  /// - Parameters:
  ///   - isMarked: Whether the sender calls it a keyframe.
  ///   - time: Its decode time.
  package mutating func read(_ unit: H264AccessUnit, isMarked: Bool, at time: MediaTime) -> Content {
    guard unit.payload.readableBytes > 0 else { return .empty }
    let decision = self.start.handle(
      unit, isMarked: isMarked, hasParameterSets: self.description != nil, at: time)
    return switch decision {
    case .drop: .early(missing: nil)
    case .reportMissing(let count): .early(missing: count)
    case .take(let isStart): .frame(payload: self.payload(of: unit, isStart: isStart), isStart: isStart)
    }
  }

  /// Payload of an access unit where its owner judges the start of decoding.
  package func payload(of unit: H264AccessUnit, isStart: Bool) -> ByteBuffer {
    self.parameterSets.payload(of: unit, isStart: isStart)
  }

  /// Waits for a point at which decoding can start, as after a loss.
  package mutating func awaitStart() {
    self.start = H264DecodingStart()
  }

  private mutating func describe() throws(ParsingError) -> H264Description? {
    guard let (sequence, pictureSet) = self.parameterSets.pair else {
      throw ParsingError(.missing, field: "parameter sets")
    }
    var description = try H264Description(
      parsing: sequence, pictureParameterSet: pictureSet, frameRate: self.frameRate)
    if !Self.plausibleFrameRates.contains(description.frameRate.framesPerSecond) {
      description.frameRate = self.frameRate
    }
    guard description != self.description else { return nil }
    self.description = description
    return description
  }
}
