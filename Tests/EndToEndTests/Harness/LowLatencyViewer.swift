import Containers
import Foundation
import HLSRules
import NIOCore

/// Watches a low-latency playlist as a player does, and looks whether what the server gives keeps to the rules.
///
/// For each part it asks at the same time for the playlist that holds it, for a delta update of that, and for the file of
/// the preload hint, each on a connection of its own, and takes the answers when they come.
struct LowLatencyViewer: Sendable {
  /// A file and how long the playlist says it lasts, in seconds.
  private struct Named {
    var uri: String
    var duration: Double
  }

  private(set) var checker = HLSRuleChecker(tolerance: 0.75)
  private(set) var problems: [String] = []
  /// Hints that were asked for ahead of time.
  private(set) var hintsTaken = 0
  /// Delta updates that were compared with the full playlist of the same moment.
  private(set) var deltasCompared = 0
  /// Segments and parts whose samples were counted.
  private(set) var segmentsMeasured = 0
  private(set) var partsMeasured = 0
  private(set) var skippedSegments = 0

  private let folder: String
  private var files: [String: [UInt8]] = [:]
  private var parts: [Named] = []
  private var segments: [Named] = []

  /// Watches `/NAME/live.m3u8` for some seconds, from the multivariant playlist on.
  static func watch(_ name: String, port: Int, seconds: Double) throws -> LowLatencyViewer {
    var viewer = LowLatencyViewer(folder: "/\(name)/")
    try viewer.watch(port: port, seconds: seconds)
    return viewer
  }

  private init(folder: String) {
    self.folder = folder
  }

  private mutating func watch(port: Int, seconds: Double) throws {
    let start = ContinuousClock.now
    let (full, delta, hint, files) = try (
      HTTPConnection(port: port), HTTPConnection(port: port), HTTPConnection(port: port), HTTPConnection(port: port)
    )
    let variants = try self.playlist(from: full.get(self.folder + "index.m3u8"), maximumAge: 1)
    guard let name = variants.split(separator: "\n").first(where: { !$0.hasPrefix("#") }) else {
      throw HTTPConnection.Failure(what: "no playlist in \(variants)")
    }
    let path = self.folder + name
    let first = try full.get(path)
    var playlist = try MediaPlaylistText(self.playlist(from: first, maximumAge: 1))
    self.checker.check(first.text, at: Self.seconds(since: start, first.instant))
    while Self.seconds(since: start, .now) < seconds {
      let (number, part) = Self.next(after: playlist)
      let hinted = playlist.hints.first ?? ""
      let query = "?_HLS_msn=\(number)&_HLS_part=\(part)"
      hint.send(self.folder + hinted)
      full.send(path + query)
      delta.send(path + query + "&_HLS_skip=YES")
      let answer = try full.answer()
      let update = try delta.answer()
      let ahead = try hint.answer()
      let before = playlist
      playlist = try MediaPlaylistText(self.playlist(from: answer, maximumAge: 6))
      self.checker.check(answer.text, at: Self.seconds(since: start, answer.instant))
      if (number, part) >= Self.next(after: playlist) { self.problems.append("\(query) was answered without it") }
      self.compare(try self.playlist(from: update, maximumAge: 6), with: answer.text)
      self.take(hinted, ahead, after: answer, in: playlist)
      try self.fetchNews(of: playlist, after: before, from: files)
    }
    try self.measure()
  }

  /// The number of the part that comes next.
  private static func next(after playlist: MediaPlaylistText) -> (Int, Int) {
    guard let last = playlist.segments.last, last.uri == nil else {
      return (playlist.number(playlist.segments.count), 0)
    }
    return (playlist.number(playlist.segments.count - 1), last.parts.count)
  }

  private static func seconds(since start: ContinuousClock.Instant, _ end: ContinuousClock.Instant) -> Double {
    (end - start) / .seconds(1)
  }

  private mutating func playlist(from answer: HTTPConnection.Answer, maximumAge: Int) throws -> String {
    guard answer.status == 200 else { throw HTTPConnection.Failure(what: "playlist: \(answer.status) \(answer.text)") }
    self.expect(answer, "playlist", type: "application/vnd.apple.mpegurl", caching: "public, max-age=\(maximumAge)")
    return answer.text
  }

  private mutating func expect(_ answer: HTTPConnection.Answer, _ what: String, type: String, caching: String) {
    let (actualType, actualCaching) = (answer.fields["content-type"], answer.fields["cache-control"])
    if actualType != type { self.problems.append("\(what) is of type \(actualType ?? "none")") }
    if actualCaching != caching { self.problems.append("\(what) has Cache-Control \(actualCaching ?? "none")") }
  }

  private mutating func compare(_ delta: String, with full: String) {
    let skipped = MediaPlaylistText(delta).skippedSegments
    // Only playlists of one moment say the same; the parts at their ends tell.
    guard skipped > 0, delta.split(separator: "\n").last == full.split(separator: "\n").last else { return }
    self.deltasCompared += 1
    self.skippedSegments = max(self.skippedSegments, skipped)
    self.checker.check(delta: delta, equals: full)
  }

  /// The file of a preload hint, which was asked for before it was there, is the part that the next playlist names.
  private mutating func take(
    _ uri: String, _ answer: HTTPConnection.Answer, after playlistAnswer: HTTPConnection.Answer,
    in playlist: MediaPlaylistText
  ) {
    guard let part = playlist.segments.flatMap(\.parts).first(where: { $0.uri == uri }) else {
      return self.problems.append("\(uri) was hinted and did not come")
    }
    guard self.keep(uri, answer) else { return }
    let delay = Self.seconds(since: playlistAnswer.instant, answer.instant)
    if delay > 0.5 { self.problems.append("\(uri) came \(delay) s after the playlist that names it") }
    self.hintsTaken += 1
    self.parts.append(Named(uri: uri, duration: part.duration))
  }

  private mutating func keep(_ uri: String, _ answer: HTTPConnection.Answer) -> Bool {
    guard answer.status == 200 else {
      self.problems.append("\(uri): \(answer.status) \(answer.text)")
      return false
    }
    self.expect(answer, uri, type: "video/mp4", caching: "public, max-age=31536000, immutable")
    self.checker.checkFile(uri, answer.body)
    self.files[uri] = answer.body
    return true
  }

  /// Fetches whole segments that are new, and once more what is old: the first segment and part that the playlist names,
  /// and what it has just ceased to name.
  private mutating func fetchNews(
    of playlist: MediaPlaylistText, after before: MediaPlaylistText, from connection: HTTPConnection
  ) throws {
    var wanted: [String] = []
    var hasNews = false
    for segment in playlist.whole {
      guard let uri = segment.uri, self.files[uri] == nil else { continue }
      hasNews = true
      wanted.append(uri)
      // Those of the first playlist are not measured, since their parts are not known.
      if segment.parts.allSatisfy({ self.files[$0.uri] != nil }) {
        self.segments.append(Named(uri: uri, duration: segment.duration))
      }
    }
    if hasNews {
      wanted += before.segments.prefix(max(0, playlist.mediaSequence - before.mediaSequence)).compactMap(\.uri)
      wanted += [playlist.segments.first?.uri, playlist.segments.first?.map].compactMap { $0 }
      wanted += playlist.segments.flatMap(\.parts).prefix(1).map(\.uri)
    }
    for uri in wanted where try !self.keep(uri, connection.get(self.folder + uri)) {
      throw HTTPConnection.Failure(what: self.problems.last ?? uri)
    }
  }

  /// Compares the lengths that playlists told with those of the pictures in the files, in the order in which they came.
  private mutating func measure() throws {
    guard let map = self.files.first(where: { $0.key.contains("init") })?.value else {
      throw HTTPConnection.Failure(what: "no initialization segment")
    }
    let pictures = try FragmentTimes(initialization: map)
    self.partsMeasured = try self.measure(self.parts, pictures)
    self.segmentsMeasured = try self.measure(self.segments, pictures)
  }

  private mutating func measure(_ named: [Named], _ pictures: FragmentTimes) throws -> Int {
    var end: Double?
    var longestBefore = 0.0
    for file in named {
      guard let bytes = self.files[file.uri], let span = try pictures.span(of: bytes) else {
        self.problems.append("\(file.uri) has no pictures")
        continue
      }
      // Where the source left a picture out, the one before it lasts longer, beyond the end of its part.
      let tolerance = max(pictures.pictureInterval, span.longest, longestBefore)
      if abs(span.end - span.start - file.duration) > tolerance {
        self.problems.append("\(file.uri) lasts \(span.end - span.start) s, and is told to last \(file.duration) s")
      }
      if let end, abs(span.start - end) > 0.001 { self.problems.append("\(file.uri) starts \(span.start - end) s off") }
      (end, longestBefore) = (span.end, span.longest)
    }
    return named.count
  }
}

/// Reads the times of pictures out of fragments.
struct FragmentTimes {
  /// The time from a picture to the next, in seconds, at 30 pictures a second.
  let pictureInterval = 1 / 30.0
  private let extends: [TrackExtends]
  private let trackID: UInt32
  private let timescale: Double

  /// - Parameter initialization: What decoders must know first: the first track is that of the pictures.
  init(initialization: [UInt8]) throws {
    let boxes = try MP4Box.boxes(in: ByteBuffer(bytes: initialization))
    guard let movie = boxes.first(where: { $0.type == "moov" }) else {
      throw HTTPConnection.Failure(what: "an initialization segment without moov")
    }
    self.extends = try movie.child("mvex").children().filter { $0.type == "trex" }.map { try TrackExtends(parsing: $0) }
    let track = try movie.child("trak")
    // Creation time, modification time, track_ID; the same and the timescale.
    var header = try track.child("tkhd").full()
    var media = try track.child("mdia").child("mdhd").full()
    header.content.moveReaderIndex(forwardBy: header.version == 0 ? 8 : 16)
    media.content.moveReaderIndex(forwardBy: media.version == 0 ? 8 : 16)
    self.trackID = header.content.readInteger() ?? 0
    self.timescale = Double(media.content.readInteger(as: UInt32.self) ?? 1)
  }

  /// From the first picture to the end of the last, and how long the longest one lasts, in seconds; nil without pictures.
  func span(of bytes: [UInt8]) throws -> (start: Double, end: Double, longest: Double)? {
    var span: (start: Double, end: Double, longest: Double)?
    for box in try MP4Box.boxes(in: ByteBuffer(bytes: bytes)) where box.type == "moof" {
      let fragment = try MovieFragment(parsing: box, extends: self.extends)
      for track in fragment.tracks where track.trackID == self.trackID {
        let durations = track.samples.map { UInt64($0.duration) }
        span = (
          span?.start ?? Double(track.baseDecodeTime) / self.timescale,
          Double(track.baseDecodeTime + durations.reduce(0, +)) / self.timescale,
          max(span?.longest ?? 0, Double(durations.max() ?? 0) / self.timescale)
        )
      }
    }
    return span
  }
}
