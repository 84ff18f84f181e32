import Authentication
import Effects
package import Media
import MediaInput
import Pushing
import Recording
import StreamControl
import Streaming
import Vidicon

/// The options of one stream, from the command line, `--stream`, or the configuration file.
package struct StreamOptions: Equatable {
  package var name = "live"
  /// Name of the video source; nil when none is requested: then `serve` uses a camera if there is one.
  var source: String?
  /// The key of publishers in the source, `rtmp:?key=`, `rtsp:?key=` or `whip:?token=`; nil without one.
  var publishKey: AccessToken?
  /// The token of publishers to the source `whip:` of another option; nil without one.
  var whipToken: AccessToken?
  var audio = "auto"
  var size: Size?
  var frameRate: FrameRate?
  var bitrate = 2_300_000
  var scaling = VideoSettings.Scaling.fit
  /// Nil for `auto`.
  var profile: H264Profile?
  var rateBuffer = MediaDuration.seconds(1)
  var encoder = "libx264"
  var passThrough = VideoSettings.PassThrough.auto
  var renditions = RenditionChoice.automatic
  var audioBitrate = AudioSettings.defaultBitrate
  /// Audio sample rate in Hz; nil for the source's.
  var sampleRate: Int?
  /// Number of audio channels; nil for the source's.
  var channelCount: Int?
  var effects = EffectOptions()
  var recording = RecordingOptions()
  /// Servers that it is sent to.
  var pushes: [PushTarget] = []
  /// The given ones of these options with their origins.
  var given = GivenSettings<Key>()

  /// Default options: the first camera, or generated video.
  package init() {}

  /// The video source when none is requested and there is no camera.
  static let generatedSource = "plasma"

  /// Width and height in pixels.
  struct Size: Equatable {
    var width: Int
    var height: Int
  }

  /// The table of a stream's settings: options, keys of `--stream`, and keys of the configuration file.
  enum Key: String, SettingKey {
    case preset, name, source, audio, size, fps, bitrate, scaling, encoder, profile, vbv, passThrough, rendition
    case audioBitrate, whipToken
    case push, pushFile
    case faces, privacyMinFace, mask, maskPart, maskAnchors, smooth, overlay, clock, snapshotOn
    case record, recordings, splitDuration, splitSize, keepAge, keepSize, keepFree, overwrite, title, recordRendition

    /// Whether the option applies to each stream of a configuration file, and not to an only one: recordings, and the token of publishers.
    var isForEveryStream: Bool {
      switch self {
      case .record, .recordings, .splitDuration, .splitSize, .keepAge, .keepSize, .keepFree, .overwrite, .title,
        .recordRendition, .whipToken:
        true
      default: false
      }
    }
  }

  /// Parses and sets one value.
  mutating func set(_ key: Key, to text: String, from origin: SettingOrigin = .option) throws(VidiconError) {
    switch key {
    case .push: break  // Its keys and values are what is given.
    case .pushFile: self.given.append(key, .text(Secret(text)), from: origin)
    default: self.given.set(key, to: [text], from: origin)
    }
    try key.secrecy.check(text, named: key.rawValue)
    switch key {
    case .preset: try self.apply(preset: text)
    case .name: self.name = try Self.name(text)
    case .source: try self.setSource(text)
    case .audio: self.audio = text
    case .size: self.size = try Self.size(text)
    case .fps: self.frameRate = try Self.frameRate(text)
    case .bitrate: self.bitrate = try Self.videoBitrate(text)
    case .scaling:
      self.scaling = try Self.choice(text, "it is not a scaling mode", "give fit (with bars) or fill (with crop)")
    case .encoder: self.encoder = text
    case .profile where text == "auto": self.profile = nil
    case .profile:
      self.profile = try Self.choice(text, "it is not a profile", "give baseline, main, high or auto") as H264Profile
    case .vbv: self.rateBuffer = try Self.rateBuffer(text)
    case .passThrough:
      self.passThrough = try Self.choice(text, "it is no mode of passing through", "give auto, on or off")
    case .rendition: self.renditions = try Self.renditions(text)
    case .audioBitrate: self.audioBitrate = try Self.bitrate(text, in: 8_000...512_000, example: "64k")
    case .whipToken: self.whipToken = try Self.whipToken(text)
    case .push: try self.addPush(try Self.pushValues(text), from: origin)
    case .pushFile: self.pushes += try Self.pushes(inFile: text)
    case .faces: try self.effects.set(faces: text)
    case .mask: try self.effects.set(mask: text)
    case .maskPart: try self.effects.set(maskPart: text)
    case .maskAnchors: self.effects.anchorsFile = text
    case .privacyMinFace: try self.effects.set(privacyMinFace: text)
    case .smooth: try self.effects.set(smooth: text)
    case .overlay: try self.effects.set(overlay: text)
    case .clock: self.effects.settings.clock = try Self.boolean(text)
    case .snapshotOn: try self.effects.set(snapshotOn: text)
    case .record: self.recording.pattern = text
    case .recordings: self.recording.folder = text
    case .splitDuration: self.recording.splitDuration = try Quantity.duration(text)
    case .splitSize: self.recording.splitSize = try Quantity.byteCount(text)
    case .keepAge: self.recording.keepAge = try Quantity.duration(text)
    case .keepSize: self.recording.keepSize = try Quantity.byteCount(text)
    case .keepFree: self.recording.keepFree = text == "0" ? 0 : try Quantity.byteCount(text)
    case .overwrite: self.recording.overwrites = try Self.boolean(text)
    case .title: self.recording.title = text
    case .recordRendition: self.recording.rendition = text
    }
  }

  /// Protocol by which publishers send the source; nil for other sources.
  var publishScheme: PublishedSource.Scheme? {
    PublishedSource.Scheme.allCases.first { self.source == $0.sourceName }
  }

  /// Sets the source; the key of `rtmp:?key=KEY`, `rtsp:?key=KEY` and `whip:?token=TOKEN` is kept apart from the text, which is shown.
  private mutating func setSource(_ text: String) throws(VidiconError) {
    self.source = text
    self.publishKey = nil
    let schemes = PublishedSource.Scheme.allCases
    guard let scheme = schemes.first(where: { text.hasPrefix("\($0.sourceName)?") }) else { return }
    let source = scheme.sourceName
    self.source = source
    let parameter = Self.keyParameter(of: scheme)
    let prefix = "\(source)?\(parameter)="
    guard text.hasPrefix(prefix),
      let key = AccessToken(parsing: String(text.dropFirst(prefix.count)), role: .publisher(stream: ""))
    else {
      throw .usage(
        "the source \(source)", "its \(parameter) is not usable as a \(scheme == .whip ? "token" : "stream key")",
        "write \(prefix)\(parameter.uppercased()) with 16 to 256 letters, digits and -._~+, or \(source) for a \(parameter) that "
          + "is made at the start")
    }
    self.publishKey = key
  }

  /// Parses and sets values; a preset comes first, since other values override parts of it.
  mutating func set(_ values: [(Key, String)], from origin: SettingOrigin = .option) throws(VidiconError) {
    for (key, text) in values where key == .preset { try self.set(key, to: text, from: origin) }
    for (key, text) in values where key != .preset { try self.set(key, to: text, from: origin) }
  }

  /// Settings of the video track.
  var video: VideoSettings {
    var video = VideoSettings(
      width: self.size?.width, height: self.size?.height, frameRate: self.frameRate, bitrate: self.bitrate,
      encoder: self.encoder, scaling: self.scaling, passThrough: self.passThrough, renditions: self.renditions,
      profile: self.profile,
      rateBuffer: self.rateBuffer)
    if self.publishScheme == .whip { video.slateText = "WAITING FOR A CAMERA" }
    return video
  }

  /// The video source; nil where none is requested, and where the text names none.
  var videoSource: SourceSpecification.Video? {
    self.source.flatMap { try? SourceSpecification.Video(parsing: $0) }
  }

  /// The audio source; nil where the text names none.
  var audioSource: SourceSpecification.Audio? { try? SourceSpecification.Audio(parsing: self.audio) }

  /// The sources; throws where their names cannot be parsed.
  func specification() throws(VidiconError) -> SourceSpecification {
    try SourceSpecification(video: self.source ?? Self.generatedSource, audio: self.audio)
  }

  /// Checks that the names of the sources can be parsed, before a port is opened.
  func checkSources() throws(VidiconError) {
    do throws(VidiconError) {
      _ = try self.specification()
    } catch {
      throw error.of(self.name)
    }
  }

  /// Opens the sources; generated video has the stream's size and frame rate.
  ///
  /// - Parameters:
  ///   - loop: Whether files are looped.
  ///   - connection: Time by which network sources and the writers of pipes must be there.
  func openSources(loop: Bool, connection: Sources.ConnectionNeed) throws(VidiconError) -> Sources {
    try Sources(
      self.specification(),
      width: self.size?.width ?? 1280,
      height: self.size?.height ?? 720,
      frameRate: self.frameRate ?? 30, loop: loop, passesThroughWHIP: self.passThrough == .on,
      connection: connection)
  }

  /// Settings of the audio track.
  var audioSettings: AudioSettings {
    AudioSettings(sampleRate: self.sampleRate, channelCount: self.channelCount, bitrate: self.audioBitrate)
  }

  /// Whether a source accepts any TLS certificate.
  var acceptsAnyCertificate: Bool { (try? self.specification())?.acceptsAnyCertificate ?? false }

  /// Settings of the recording; nil without one.
  func recordingSettings(existing: RecordingSettings.ExistingFiles) throws(VidiconError) -> RecordingSettings? {
    try self.recording.settings(stream: self.name, existing: existing)
  }
}

extension StreamOptions {
  /// Parses `name=…,source=…`: pairs separated by commas. A comma within a value is written twice.
  package init(parsing text: String, defaults: StreamOptions) throws(VidiconError) {
    self = defaults
    var pairs: [String] = []
    for part in text.replacing(",,", with: "\u{0}").split(separator: ",") {
      pairs.append(String(part).replacing("\u{0}", with: ","))
    }
    var seen: Set<Key> = []
    var values: [(Key, String)] = []
    for pair in pairs {
      guard let separator = pair.firstIndex(of: "="), let key = Key(rawValue: String(pair[..<separator])) else {
        let keys = Key.allCases.map(\.rawValue).joined(separator: ", ")
        // A comma within a password ends a pair.
        let isShown = !text.contains { "@:".contains($0) }
        let near = pair.firstIndex(of: "=").flatMap { isShown ? Key.nearest(to: String(pair[..<$0])) : nil }
        throw .usage(
          "--stream", "\(isShown ? quoted(pair) : "a part") is not KEY=VALUE with one of the keys",
          near.map { "did you mean \($0)? They are \(keys)" } ?? "they are \(keys)")
      }
      guard seen.insert(key).inserted else {
        throw .usage("--stream", "\(key.rawValue) is given twice", "give it once")
      }
      values.append((key, String(pair[pair.index(after: separator)...])))
    }
    try self.set(values, from: .option)
    guard seen.contains(.name) else { throw .usage("--stream", "a stream has no name", "start with name=NAME") }
  }

  private static func name(_ text: String) throws(VidiconError) -> String {
    let isAllowed = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
      case UInt8(ascii: "0")...UInt8(ascii: "9"): true
      default: "-_.~/".utf8.contains(byte)
      }
    }
    if let cause = LiveStream.problem(withName: text) {
      throw .usage(
        text.withoutCredentials().debugDescription, "it cannot be a stream's name: \(cause)",
        "choose another one, such as live")
    }
    guard isAllowed else {
      throw .usage(
        text.withoutCredentials().debugDescription, "it cannot be a stream's name",
        "use letters, digits and - _ . ~, with single slashes between them")
    }
    return text
  }

  static func size(_ text: String) throws(VidiconError) -> Size {
    let parts = text.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
    guard parts.count == 2, let width = parts[0], let height = parts[1], (16...8192).contains(width),
      (16...8192).contains(height), width.isMultiple(of: 2), height.isMultiple(of: 2)
    else {
      throw .usage(quoted(text), "it is not a size", "give even numbers from 16 to 8192, such as 1280x720")
    }
    return Size(width: width, height: height)
  }

  static func frameRate(
    _ text: String, in range: ClosedRange<Double> = 1...240
  ) throws(VidiconError) -> FrameRate {
    guard let rate = FrameRate(parsing: text, in: range) else {
      throw .usage(
        quoted(text), "it is not a frame rate",
        "give \(Int(range.lowerBound)) to \(Int(range.upperBound)), such as 30, 29.97 or 30000/1001")
    }
    return rate
  }

  /// Parses a video bitrate in bits per second, such as `2300k`.
  static func videoBitrate(_ text: String) throws(VidiconError) -> Int {
    try Self.bitrate(text, in: StreamChange.bitrates, example: "2300k")
  }

  private static func bitrate(
    _ text: String, in range: ClosedRange<Int>, example: String
  ) throws(VidiconError) -> Int {
    guard let bitrate = Self.bitsPerSecond(text), range.contains(bitrate) else {
      throw .usage(
        quoted(text), "it is not a bitrate",
        "give \(range.lowerBound / 1000)k to \(range.upperBound / 1000)k, such as \(example)")
    }
    return bitrate
  }

  /// Parses any bitrate, such as `2300k` or `1.5M`; nil for other texts and for numbers that are too large.
  static func bitsPerSecond(_ text: String) -> Int? {
    let factors: [Character: Double] = ["k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6]
    let factor = text.last.flatMap { factors[$0] }
    guard let number = Double(factor == nil ? text[...] : text.dropLast()) else { return nil }
    return Int(exactly: (number * (factor ?? 1)).rounded(.towardZero))
  }

  private mutating func apply(preset text: String) throws(VidiconError) {
    guard text == "portrait" else { throw .usage(quoted(text), "it is not a preset", "give portrait") }
    let (video, audio) = (VideoSettings.portrait, AudioSettings.portrait)
    if let width = video.width, let height = video.height { self.size = Size(width: width, height: height) }
    (self.bitrate, self.audioBitrate) = (video.bitrate, audio.bitrate)
    (self.sampleRate, self.channelCount) = (audio.sampleRate, audio.channelCount)
    if let size { self.given.set(.size, to: ["\(size.width)x\(size.height)"], from: .preset) }
    self.given.set(.bitrate, to: ["\(self.bitrate)"], from: .preset)
    self.given.set(.audioBitrate, to: ["\(self.audioBitrate)"], from: .preset)
  }

  /// Parses `true` or `false`.
  static func boolean(_ text: String) throws(VidiconError) -> Bool {
    switch text {
    case "true": return true
    case "false": return false
    default: throw .usage(quoted(text), "it is neither true nor false", "give one of them")
    }
  }

  /// Parses the length of the rate control buffer, seconds such as `0.5`.
  private static func rateBuffer(_ text: String) throws(VidiconError) -> MediaDuration {
    let length = try Quantity.duration(text)
    guard VideoSettings.rateBuffers.contains(length) else {
      throw .usage("--vbv \(quoted(text))", "it is out of range", "give 0.25 to 2 seconds")
    }
    return length
  }

  /// Parses one of the names of a type.
  private static func choice<Choice: RawRepresentable<String>>(
    _ text: String, _ cause: String, _ nextStep: String
  ) throws(VidiconError) -> Choice {
    guard let choice = Choice(rawValue: text) else { throw .usage(quoted(text), cause, nextStep) }
    return choice
  }
}
