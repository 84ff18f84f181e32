public import Media

/// Selects a microphone and its format, as in `mic:NAME?rate=44100&channels=1`.
///
/// Everything but `mic:` is optional. The name ends at the last question mark, since ALSA's names contain colons, commas
/// and equals signs.
///
/// | name                           | microphone                                                       |
/// |--------------------------------|------------------------------------------------------------------|
/// | none                           | the system's default, else the first microphone that opens       |
/// | `hw:1,0`, `plughw:CARD=C920`   | an ALSA PCM                                                      |
/// | `pulse`, `pipewire`            | the sound server's default source                                |
/// | `C920`                         | the sound card with this text in its name, ignoring case         |
public struct MicrophoneSpecification: Hashable, Sendable {
  /// Name of an ALSA PCM, or part of the name of a sound card; nil for the default.
  public var name: String?
  /// Requested sample rate in Hz; nil for the device's own, 48 000 where the device supports several.
  public var sampleRate: Int?
  /// Requested number of channels, 1 or 2; nil for the device's own.
  public var channelCount: Int?

  /// Valid sample rates in Hz, limited by AAC and the resampler.
  public static let sampleRates = 8_000...192_000

  /// Creates a specification.
  ///
  /// - Parameters:
  ///   - name: Name of an ALSA PCM, or part of the name of a sound card; nil for the default.
  ///   - sampleRate: Sample rate in ``sampleRates``, in Hz; nil for the device's own.
  ///   - channelCount: 1 or 2; nil for the device's own.
  public init(name: String? = nil, sampleRate: Int? = nil, channelCount: Int? = nil) {
    self.name = name
    self.sampleRate = sampleRate
    self.channelCount = channelCount
  }

  /// Parses `mic:NAME?rate=RATE&channels=COUNT`.
  ///
  /// Rejects names with which ALSA would write a file or run a program, as its plug-in `file` does: the text may come from
  /// the network.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/invalidSpecification``, whose next step shows a valid value.
  public init(parsing text: String) throws(VidiconError) {
    func error(_ cause: String, _ nextStep: String) -> VidiconError {
      VidiconError(.invalidSpecification, subject: text.withoutCredentials(), cause: cause, nextStep: nextStep)
    }
    guard text.hasPrefix(Self.scheme) else {
      throw error("it is not a microphone", "write mic:NAME, or mic: for the default one")
    }
    let rest = text.dropFirst(Self.scheme.count)
    let mark = rest.lastIndex(of: "?")
    let name = mark.map { rest[..<$0] } ?? rest
    self.init(name: name.isEmpty ? nil : String(name))
    guard name.utf8.count <= 256, name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      throw error("its name cannot be that of a microphone", "choose one that is listed by: vidicon devices")
    }
    guard !Self.isProgram(name) else {
      throw error(
        "its name would make ALSA write a file or run a program", "define a PCM in ~/.asoundrc and use its name here")
    }

    var seen: Set<Substring> = []
    let options = mark.map { rest[rest.index(after: $0)...].split(separator: "&", omittingEmptySubsequences: false) }
    for option in options ?? [] {
      let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = parts.count == 2 ? Self.number(parts[1]) : nil
      guard seen.insert(parts[0]).inserted else {
        throw error("the option \(parts[0].withoutCredentials()) is given twice", "give it once")
      }
      switch parts[0] {
      case "rate":
        guard let value, Self.sampleRates.contains(value) else {
          throw error("its sample rate is invalid", "write rate=8000 to rate=192000")
        }
        self.sampleRate = value
      case "channels":
        guard let value, 1...2 ~= value else {
          throw error("its number of channels is invalid", "write channels=1 or channels=2")
        }
        self.channelCount = value
      default:
        throw error("a microphone has no option \"\(parts[0].withoutCredentials())\"", "use rate= and channels=")
      }
    }
  }

  /// Whether the name is that of a sound card, or of a PCM of the system without arguments: those of other PCMs may be paths
  /// and servers.
  package var isOfThisMachine: Bool {
    guard let name else { return true }
    guard !name.contains("/") else { return false }
    guard let colon = name.firstIndex(of: ":") else { return true }
    return ["hw", "plughw", "default", "sysdefault", "front", "dsnoop", "hdmi", "iec958", "usbstream"]
      .contains(name[..<colon]) || name.hasPrefix("surround")
  }

  private static let scheme = "mic:"

  /// Parses decimal digits; nil for other characters and on overflow.
  private static func number(_ text: Substring) -> Int? {
    text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ? Int(text) : nil
  }

  /// Whether the name of a PCM contains a configuration, or the plug-ins `file` and `tee`, which accept the path of a file or
  /// a command.
  private static func isProgram(_ name: Substring) -> Bool {
    if name.contains(where: { "{}[]|;<>'\"\\`$".contains($0) }) { return true }
    return name.lowercased().split(whereSeparator: { ",= ".contains($0) }).contains { word in
      word.split(separator: ":", omittingEmptySubsequences: false).dropLast().contains { ["file", "tee"].contains($0) }
    }
  }
}

extension MicrophoneSpecification: CustomStringConvertible {
  /// The specification in the syntax of ``init(parsing:)``.
  public var description: String {
    let options = [
      self.sampleRate.map { "rate=\($0)" }, self.channelCount.map { "channels=\($0)" },
    ].compactMap(\.self)
    return Self.scheme + (self.name ?? "") + (options.isEmpty ? "" : "?" + options.joined(separator: "&"))
  }
}
