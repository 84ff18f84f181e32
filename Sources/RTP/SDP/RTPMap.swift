/// The encoding behind a payload type: `encoding/clock-rate[/channels]` of `a=rtpmap`, RFC 8866 §6.6.
public struct RTPMap: Hashable, Sendable {
  /// The encoding name, such as "H264" or "mpeg4-generic"; compared case-insensitively.
  public var encoding: String
  /// Clock rate of the timestamps in ticks per second, at least 1.
  public var clockRate: Int32
  /// Number of audio channels, 1 by default.
  public var channelCount: Int

  /// An encoding with its clock rate.
  public init(encoding: String, clockRate: Int32, channelCount: Int = 1) {
    self.encoding = encoding
    self.clockRate = clockRate
    self.channelCount = channelCount
  }

  package init?(parsing text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count >= 2, let clockRate = Int32(parts[1].trimmed), clockRate > 0 else { return nil }
    var channelCount = 1
    if parts.count > 2 {
      guard let count = UInt8(parts[2].trimmed), count > 0 else { return nil }
      channelCount = Int(count)
    }
    self.init(encoding: parts[0].trimmed, clockRate: clockRate, channelCount: channelCount)
  }

  /// Whether the encoding name matches, case-insensitively.
  public func isEncoding(_ name: String) -> Bool {
    self.encoding.lowercased() == name.lowercased()
  }
}
