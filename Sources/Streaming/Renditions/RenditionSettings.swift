public import Media

/// Name, size, bitrate and frame rate of a further rendition of a stream: the same frames as the main one, encoded again.
public struct RenditionSettings: Hashable, Sendable {
  /// Last component of the rendition's addresses, such as `low` in `rtsp://HOST:8554/live/low`.
  public var name: String
  /// Width in pixels, even, at most the stream's.
  public var width: Int
  /// Height in pixels, even, at most the stream's. Where the aspect ratio differs from the stream's, bars are added.
  public var height: Int
  /// Bitrate in bits per second.
  public var bitrate: Int
  /// Maximum frame rate; nil for the stream's.
  public var frameRate: FrameRate?
  /// Name of the encoder in libavcodec; nil for the stream's. A device may have one encoder only.
  public var encoder: String?

  /// Maximum number of further renditions of a stream: twice that of long ladders, and few enough that a mistyped list cannot take
  /// all memory once a player opens the multivariant playlist.
  public static let maximumCount = 16
  /// Maximum length of a name, in characters.
  public static let maximumNameLength = 32
  /// Range of ``bitrate``, in bits per second.
  public static let bitrates = 10_000...200_000_000
  /// Range of ``frameRate``, in frames per second; more than the stream's has no effect.
  public static let frameRates = 1.0...1000.0
  /// Names that have another meaning in addresses.
  public static let reservedNames: Set<String> = ["ca", RenditionName.main, "mjpeg", "publish", "whep", "whip"]

  /// Creates settings; ``problem(with:)`` checks them.
  public init(
    name: String, width: Int, height: Int, bitrate: Int, frameRate: FrameRate? = nil, encoder: String? = nil
  ) {
    self.name = name
    self.width = width
    self.height = height
    self.bitrate = bitrate
    self.frameRate = frameRate
    self.encoder = encoder
  }

  /// The rendition that streams of 720p and more have by default: `low`, whose shorter side has 360 pixels, with 450 kb/s and at
  /// most 30 frames per second.
  ///
  /// - Returns: Nil for a smaller stream.
  static func automatic(for format: VideoFormat) -> RenditionSettings? {
    let (short, long) = (min(format.width, format.height), max(format.width, format.height))
    guard short >= 720 else { return nil }
    let scaled = max(16, (long * 360 + short / 2) / short & ~1)
    let isUpright = format.width >= format.height
    let limit = FrameRate(30)
    return RenditionSettings(
      name: "low", width: isUpright ? scaled : 360, height: isUpright ? 360 : scaled, bitrate: 450_000,
      frameRate: limit < format.frameRate ? limit : nil)
  }

  /// Describes what makes settings unusable with any stream; nil when there is nothing.
  public static func problem(with renditions: [RenditionSettings]) -> VidiconError? {
    if renditions.count > Self.maximumCount {
      return VidiconError(
        .invalidSpecification, subject: "\(renditions.count) renditions",
        cause: "a stream has at most \(Self.maximumCount)", nextStep: "leave some out")
    }
    var names: Set<String> = []
    for rendition in renditions {
      if let cause = rendition.problem { return rendition.error(cause, nextStep: "choose another one") }
      if !names.insert(rendition.name).inserted {
        return rendition.error("two renditions have this name", nextStep: "give each its own")
      }
    }
    return nil
  }

  /// Whether a text has the form of a rendition's name: 1 to 32 letters of ASCII, digits, `-` and `_`.
  package static func isName(_ text: String) -> Bool {
    let isNamed = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
    return isNamed && (1...Self.maximumNameLength).contains(text.utf8.count)
  }

  /// Reason why the settings cannot be used with any stream; nil when they can.
  private var problem: String? {
    if !Self.isName(self.name) {
      return "a name has 1 to \(Self.maximumNameLength) letters, digits, - and _"
    }
    if Self.reservedNames.union(LiveStream.reservedNames).contains(self.name.lowercased()) {
      return "the name has another meaning in addresses"
    }
    let sizes = 16...8192
    guard sizes.contains(self.width), sizes.contains(self.height), self.width % 2 == 0, self.height % 2 == 0 else {
      return "its size \(self.width)x\(self.height) is not made of even numbers from 16 to 8192"
    }
    return Self.bitrates.contains(self.bitrate) ? nil : "its bitrate is not 10k to 200000k"
  }

  /// Reason why a stream of a format cannot have the rendition; nil when it can.
  func problem(in format: VideoFormat) -> VidiconError? {
    guard self.width > format.width || self.height > format.height else { return nil }
    return self.error(
      "its size \(self.width)x\(self.height) is larger than the stream's \(format.width)x\(format.height)",
      nextStep: "give a smaller size")
  }

  /// The settings that a stream can have together, in their order, and why each of the others is left out.
  package static func usable(
    _ list: [RenditionSettings], in format: VideoFormat? = nil
  ) -> (usable: [RenditionSettings], problems: [(name: String, VidiconError)]) {
    var usable: [RenditionSettings] = []
    var problems: [(name: String, VidiconError)] = []
    for settings in list {
      var problem = format.flatMap { settings.problem(in: $0) } ?? Self.problem(with: [settings])
      if problem == nil, usable.contains(where: { $0.name == settings.name }) {
        problem = settings.error("another rendition has this name", nextStep: "give each its own")
      }
      if problem == nil, usable.count >= Self.maximumCount {
        problem = settings.error(
          "a stream has at most \(Self.maximumCount) renditions beside the main one", nextStep: "leave some out")
      }
      if let problem { problems.append((settings.name, problem)) } else { usable.append(settings) }
    }
    return (usable, problems)
  }

  private func error(_ cause: String, nextStep: String) -> VidiconError {
    VidiconError(
      .invalidSpecification, subject: "rendition \(self.name.debugDescription)", cause: cause, nextStep: nextStep)
  }
}

/// The further renditions of a stream. Each costs nothing while it has no viewer.
public enum RenditionChoice: Hashable, Sendable {
  /// `low`, 360 pixels high, for streams of 720p and more; none for smaller ones.
  case automatic
  /// A list; no renditions when empty. One that the stream cannot have, such as a larger one or a second one of a name,
  /// is left out and reported, see ``StreamEvent/renditionFailed(_:_:)``.
  case list([RenditionSettings])

  /// Paths of the main rendition and the others that a stream of a name may have.
  package func paths(of stream: String) -> [String] {
    let names =
      switch self {
      case .automatic: ["low"]
      case .list(let list): RenditionSettings.usable(list).usable.map(\.name)
      }
    return ([RenditionName.main] + names).map { "\(stream)/\($0)" }
  }

  /// The renditions of a stream of a format, and why others are left out.
  func renditions(for format: VideoFormat) -> (usable: [RenditionSettings], problems: [(name: String, VidiconError)]) {
    switch self {
    case .automatic: return ([RenditionSettings.automatic(for: format)].compactMap(\.self), [])
    case .list(let list):
      return RenditionSettings.usable(list, in: format)
    }
  }
}

/// Counters of a rendition since the stream's start, and its current state.
public struct RenditionStatistics: Hashable, Sendable {
  /// Whether its encoder is open.
  public var isRunning = false
  /// Outputs with viewers that use it now.
  public var users = 0
  /// Times that its encoder was opened.
  public var starts = 0
  /// Number of frames encoded since the stream has started.
  public var framesEncoded = 0
  /// Frames that were dropped because the encoder was too slow.
  public var framesDropped = 0
  /// Number of keyframes among ``framesEncoded``.
  public var keyframes = 0
  /// Bytes of the access units that were output, whatever the number of viewers.
  public var bytes = 0
  /// Time spent encoding, outputs excluded.
  public var encodeTime = MediaDuration.zero

  /// Mean time of encoding a frame, in milliseconds; nil before the first.
  public var meanEncodeMilliseconds: Double? {
    self.framesEncoded > 0 ? self.encodeTime.seconds * 1000 / Double(self.framesEncoded) : nil
  }
}
