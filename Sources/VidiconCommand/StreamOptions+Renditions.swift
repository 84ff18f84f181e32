import Media
import Streaming

extension StreamOptions {
  /// Separates renditions of one stream in a text: `--rendition` can be repeated, a key of `--stream` cannot.
  static let renditionSeparator: Character = ";"

  private enum RenditionKey: String, CaseIterable {
    case name, size, bitrate, fps, encoder
  }

  /// Parses `auto`, `none`, or renditions such as `name=low,size=640x360,bitrate=450k,fps=15`, separated by semicolons.
  static func renditions(_ text: String) throws(VidiconError) -> RenditionChoice {
    switch text {
    case "auto": return .automatic
    case "none": return .list([])
    default: break
    }
    var renditions: [RenditionSettings] = []
    for part in text.split(separator: Self.renditionSeparator, omittingEmptySubsequences: false) {
      renditions.append(try Self.rendition(String(part)))
    }
    // One that cannot be used is left out with a line of its own; the stream runs without it.
    return .list(renditions)
  }

  /// Parses a size of any numbers: one that cannot be encoded leaves the rendition out, and not the stream.
  private static func renditionSize(_ text: String) throws(VidiconError) -> Size {
    let parts = text.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
    guard parts.count == 2, let width = parts[0], let height = parts[1] else {
      throw .usage(quoted(text), "it is not a size", "give width and height, such as 640x360")
    }
    return Size(width: width, height: height)
  }

  private static func renditionFrameRate(_ text: String) throws(VidiconError) -> FrameRate {
    try Self.frameRate(text, in: RenditionSettings.frameRates)
  }

  private static func rendition(_ text: String) throws(VidiconError) -> RenditionSettings {
    var values: [RenditionKey: String] = [:]
    for pair in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let separator = pair.firstIndex(of: "="),
        let key = RenditionKey(rawValue: String(pair[..<separator]))
      else {
        throw .usage(
          "--rendition",
          "\(quoted(String(pair))) is not KEY=VALUE with one of the keys name, size, bitrate, fps, encoder",
          "give auto, none, or such as name=low,size=640x360,bitrate=450k")
      }
      guard values.updateValue(String(pair[pair.index(after: separator)...]), forKey: key) == nil else {
        throw .usage("--rendition", "\(key.rawValue) is given twice", "give it once")
      }
    }
    guard let name = values[.name], let size = values[.size], let bitrate = values[.bitrate] else {
      throw .usage(
        "--rendition", "\(quoted(text)) lacks its name, size or bitrate",
        "give all three, such as name=low,size=640x360,bitrate=450k")
    }
    let (dimensions, rate) = (try Self.renditionSize(size), try values[.fps].map(Self.renditionFrameRate))
    return RenditionSettings(
      name: name, width: dimensions.width, height: dimensions.height, bitrate: try Self.videoBitrate(bitrate),
      frameRate: rate, encoder: values[.encoder])
  }
}
