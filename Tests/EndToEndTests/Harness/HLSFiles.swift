import Testing

/// Paths of a stream's newest HLS files, taken from one version of its playlist.
struct HLSFiles {
  /// Newest segment as MPEG-TS.
  var segment: String
  /// Newest segment as fMP4.
  var fragment: String
  /// Newest partial segment.
  var part: String
  var initialization: String
  /// Prefix of file names, new at each start of the server.
  var token: String
  /// Media sequence number of the newest segment.
  var lastNumber: Int

  /// Requests the playlist until the server has segments.
  ///
  /// - Parameter stream: Path of the stream, such as `/live`.
  init(of vidicon: VidiconProcess, stream: String, options: [String] = []) async throws {
    let playlist = try await Curl.whenReady(vidicon.page("\(stream)/live.m3u8"), options)
    try #require(playlist.status == 200, "\(playlist.text)")
    let lines = playlist.text.split(separator: "\n")
    let uris = lines.filter { !$0.hasPrefix("#") }
    func uri(_ tag: String) -> Substring? {
      lines.last { $0.hasPrefix(tag) }?.split(separator: "URI=\"").last?.prefix { $0 != "\"" }
    }
    let newest = try #require(uris.last)
    self.fragment = "\(stream)/\(newest)"
    self.segment = "\(stream)/\(newest.replacing(".m4s", with: ".ts"))"
    self.part = "\(stream)/\(try #require(uri("#EXT-X-PART:")))"
    self.initialization = "\(stream)/\(try #require(uri("#EXT-X-MAP:")))"
    let pieces = newest.split(separator: "-")
    self.token = String(try #require(pieces.first))
    self.lastNumber = try #require(pieces.last?.split(separator: ".").first.flatMap { Int($0) })
  }
}
