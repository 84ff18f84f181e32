public import Media

/// Configuration of an ``HLSStream``: names, clock, bitrate, idle time and memory.
public struct HLSConfiguration: Hashable, Sendable {
  /// Prefix of segment names, ASCII letters and digits; different at each start of the server, so that names are unique.
  public var token: String
  /// Unix time at the zero of the streams' clock; a sample's time plus this is its `EXT-X-PROGRAM-DATE-TIME`. When the
  /// machine's clock is set, ``HLSStream/unixTimeAtZero`` changes.
  public var unixTimeAtZero: MediaDuration
  /// Configured bitrate of audio and video in bits per second, for `BANDWIDTH` until segments are measured.
  public var bitrate: Int
  /// Time without a request after which the stream becomes inactive; at least three target durations where these are longer
  /// than 3 s.
  public var idleTime: MediaDuration
  /// Minimum number of complete segments in the first playlist; they are half as long as later segments to reduce startup
  /// latency.
  public var startSegments: Int
  /// Maximum bytes of all segments. Above it, segments outside the window are dropped first, then the window shrinks down to
  /// three target durations.
  public var maximumBytes: Int

  /// Creates a configuration.
  ///
  /// - Parameters:
  ///   - token: Characters other than ASCII letters and digits are removed.
  ///   - unixTimeAtZero: Current Unix time - current time of the streams' clock.
  ///   - bitrate: Bits per second.
  ///   - idleTime: 10 s by default.
  ///   - startSegments: 3 by default, at least 1: Chromium's player treats a shorter playlist as damaged once it has played
  ///     it.
  ///   - maximumBytes: 256 MiB by default: 25 s at 40 Mb/s × 2 formats.
  public init(
    token: String, unixTimeAtZero: MediaDuration, bitrate: Int, idleTime: MediaDuration = .seconds(10),
    startSegments: Int = 3, maximumBytes: Int = 256 << 20
  ) {
    self.token = String(token.unicodeScalars.filter { $0.isASCII && $0.properties.isAlphabetic || "0"..."9" ~= $0 })
    self.unixTimeAtZero = unixTimeAtZero
    self.bitrate = bitrate
    self.idleTime = idleTime
    self.startSegments = max(1, startSegments)
    self.maximumBytes = maximumBytes
  }
}
