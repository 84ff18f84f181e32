import Testing

/// The paths of files of a stream's HLS, as its playlists have them at one moment.
struct HLSFiles {
  /// The newest segment, MPEG-TS.
  var segment: String
  /// The newest segment, fMP4.
  var fragment: String
  /// The newest part.
  var part: String
  var initialization: String
  /// What is new in the names at each start.
  var token: String
  /// The number of the newest segment.
  var lastNumber: Int

  /// Asks for them, when there is a segment.
  ///
  /// - Parameter stream: Its path, such as `/live`.
  init(of vidicon: VidiconProcess, stream: String, options: [String] = []) async throws {
    let playlist = try await Curl.get(vidicon.page("\(stream)/live.m3u8"), options)
    try #require(playlist.status == 200, "\(playlist.text)")
    let lines = playlist.text.split(separator: "\n")
    let uris = lines.filter { !$0.hasPrefix("#") }
    func attribute(_ tag: String) -> Substring? {
      lines.last { $0.hasPrefix(tag) }?.split(separator: "URI=\"").last?.prefix { $0 != "\"" }
    }
    let newest = try #require(uris.last)
    self.fragment = "\(stream)/\(newest)"
    self.segment = "\(stream)/\(newest.replacing(".m4s", with: ".ts"))"
    self.part = "\(stream)/\(try #require(attribute("#EXT-X-PART:")))"
    self.initialization = "\(stream)/\(try #require(attribute("#EXT-X-MAP:")))"
    let pieces = newest.split(separator: "-")
    self.token = String(try #require(pieces.first))
    self.lastNumber = try #require(pieces.last?.split(separator: ".").first.flatMap { Int($0) })
  }
}
