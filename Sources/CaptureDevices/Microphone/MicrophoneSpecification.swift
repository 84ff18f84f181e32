public import Media

/// Which microphone, and in what form: `mic:NAME?rate=44100&channels=1`.
///
/// Everything but `mic:` may be left out. The name is taken as it is up to the last question mark that options follow:
/// names of ALSA hold colons, commas and equals signs.
///
/// | name                           | what                                                             |
/// |--------------------------------|------------------------------------------------------------------|
/// | none                           | the default of the system, else the first microphone that opens  |
/// | `hw:1,0`, `plughw:CARD=C920`   | a PCM of ALSA                                                    |
/// | `pulse`, `pipewire`            | the sound server's default source                                |
/// | `C920`                         | a sound card, by any part of its name, in upper or lower case    |
public struct MicrophoneSpecification: Hashable, Sendable {
  /// The name of a PCM of ALSA, or a part of the name of a sound card; nil for the default.
  public var name: String?
  /// Samples a second to deliver; nil for what the device gives, 48 000 where it leaves the choice.
  public var sampleRate: Int?
  /// Channels to deliver, 1 or 2; nil for what the device gives.
  public var channelCount: Int?

  /// The rates that can be asked for: what AAC and the resampler take.
  public static let sampleRates = 8_000...192_000

  /// A microphone.
  ///
  /// - Parameters:
  ///   - name: The name of a PCM of ALSA, or a part of the name of a sound card; nil for the default.
  ///   - sampleRate: Samples a second, in ``sampleRates``; nil for what the device gives.
  ///   - channelCount: 1 or 2; nil for what the device gives.
  public init(name: String? = nil, sampleRate: Int? = nil, channelCount: Int? = nil) {
    self.name = name
    self.sampleRate = sampleRate
    self.channelCount = channelCount
  }

  /// Reads `mic:NAME?rate=RATE&channels=COUNT`.
  ///
  /// A name that would make ALSA write a file or run a program, which its plug-in `file` does for anyone who names it,
  /// is refused: the text may come from the network.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/invalidSpecification``, which names what there is.
  public init(parsing text: String) throws(VidiconError) {
    func refusal(_ cause: String, _ nextStep: String) -> VidiconError {
      VidiconError(.invalidSpecification, subject: text, cause: cause, nextStep: nextStep)
    }
    guard text.hasPrefix(Self.scheme) else {
      throw refusal("it is not a microphone", "write mic:NAME, or mic: for the default one")
    }
    let rest = text.dropFirst(Self.scheme.count)
    let mark = rest.lastIndex(of: "?")
    let name = mark.map { rest[..<$0] } ?? rest
    self.init(name: name.isEmpty ? nil : String(name))
    guard name.utf8.count <= 256, name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      throw refusal("its name cannot be that of a microphone", "choose one that is listed by: vidicon devices")
    }
    guard !Self.isProgram(name) else {
      throw refusal(
        "its name would make ALSA write a file or run a program", "define a PCM in ~/.asoundrc and give its name here")
    }

    var seen: Set<Substring> = []
    let options = mark.map { rest[rest.index(after: $0)...].split(separator: "&", omittingEmptySubsequences: false) }
    for option in options ?? [] {
      let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = parts.count == 2 ? Self.number(parts[1]) : nil
      guard seen.insert(parts[0]).inserted else {
        throw refusal("the option \(parts[0]) is given twice", "give it once")
      }
      switch parts[0] {
      case "rate":
        guard let value, Self.sampleRates.contains(value) else {
          throw refusal("it has no such sample rate", "write rate=8000 to rate=192000")
        }
        self.sampleRate = value
      case "channels":
        guard let value, 1...2 ~= value else {
          throw refusal("it has no such number of channels", "write channels=1 or channels=2")
        }
        self.channelCount = value
      default:
        throw refusal("there is no option \"\(parts[0])\" of a microphone", "use rate= and channels=")
      }
    }
  }

  private static let scheme = "mic:"

  /// Decimal digits and nothing else, not more than an Int holds.
  private static func number(_ text: Substring) -> Int? {
    text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ? Int(text) : nil
  }

  /// Whether a name of a PCM carries a configuration of its own, or names the plug-ins `file` and `tee`, which take the
  /// path of a file or a command.
  private static func isProgram(_ name: Substring) -> Bool {
    if name.contains(where: { "{}[]|;<>'\"\\`$".contains($0) }) { return true }
    return name.lowercased().split(whereSeparator: { ",= ".contains($0) }).contains { word in
      word.split(separator: ":", omittingEmptySubsequences: false).dropLast().contains { ["file", "tee"].contains($0) }
    }
  }
}

extension MicrophoneSpecification: CustomStringConvertible {
  /// What a user writes for it.
  public var description: String {
    let options = [
      self.sampleRate.map { "rate=\($0)" }, self.channelCount.map { "channels=\($0)" },
    ].compactMap(\.self)
    return Self.scheme + (self.name ?? "") + (options.isEmpty ? "" : "?" + options.joined(separator: "&"))
  }
}
