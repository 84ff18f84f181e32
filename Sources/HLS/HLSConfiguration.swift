public import Media

/// What an ``HLSStream`` is told by its owner.
public struct HLSConfiguration: Hashable, Sendable {
  /// What makes the names of segments unique: another one at each start of the server, of letters and digits only.
  public var token: String
  /// Unix time at the zero of the streams' clock: what is added to a sample's time to give `EXT-X-PROGRAM-DATE-TIME`.
  public var unixTimeAtZero: MediaDuration
  /// Bits a second that the encoders are set to, both kinds together: for `BANDWIDTH` until it is measured.
  public var bitrate: Int
  /// The time without a request after which the stream rests.
  public var idleTime: MediaDuration
  /// The whole segments that a playlist has before it is first given out, half as long as the others since somebody waits
  /// for them.
  public var startSegments: Int
  /// The most bytes that segments take. When they take more, those that left the window go first, then the window
  /// shrinks down to three target durations.
  public var maximumBytes: Int

  /// A configuration.
  ///
  /// - Parameters:
  ///   - token: Characters other than ASCII letters and digits are left out.
  ///   - unixTimeAtZero: Unix time now, less the clock's time now.
  ///   - bitrate: Bits a second.
  ///   - idleTime: 10 s by default.
  ///   - startSegments: 3 by default: Chromium's own player takes a shorter playlist for damaged as soon as it has played
  ///     it. At least 1.
  ///   - maximumBytes: 256 MiB by default: 25 s at 40 Mb/s, twice, since there are two faces.
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
