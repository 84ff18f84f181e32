import Containers
import Foundation
import HLSRules
import NIOCore

/// Plays a low-latency playlist and checks playlists and files against the rules of HLS.
///
/// For each part requests, concurrently and on separate connections, the playlist that lists it, the delta update of that
/// playlist, and the file of the preload hint.
struct LowLatencyViewer: Sendable {
  /// A file and its duration according to the playlist, in seconds.
  private struct ListedFile {
    var uri: String
    var duration: Double
  }

  private(set) var checker = HLSRuleChecker(tolerance: 0.75)
  private(set) var problems: [String] = []
  /// Number of preload hints whose files arrived.
  private(set) var hintsReceived = 0
  /// Number of delta updates compared with the full playlist of the same version.
  private(set) var deltasCompared = 0
  /// Number of segments and parts whose sample durations were compared with the playlist.
  private(set) var segmentsMeasured = 0
  private(set) var partsMeasured = 0
  private(set) var skippedSegments = 0

  private let folder: String
  private var files: [String: [UInt8]] = [:]
  private var parts: [ListedFile] = []
  private var segments: [ListedFile] = []

  /// Plays `/NAME/index.m3u8` for some seconds.
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
      if (number, part) >= Self.next(after: playlist) {
        self.problems.append("\(query) was answered with a playlist that lacks the part")
      }
      self.compare(try self.playlist(from: update, maximumAge: 6), with: answer.text)
      self.take(hinted, ahead, after: answer, in: playlist)
      try self.fetchParts(of: playlist, after: hinted, from: files)
      try self.fetchNewFiles(of: playlist, after: before, from: files)
    }
    try self.measure()
  }

  /// Segment and part number of the next part.
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
    // Only versions of the same moment can be equal: those that end with the same line.
    guard skipped > 0, delta.split(separator: "\n").last == full.split(separator: "\n").last else { return }
    self.deltasCompared += 1
    self.skippedSegments = max(self.skippedSegments, skipped)
    self.checker.check(delta: delta, equals: full)
  }

  /// Checks that the file of a preload hint is listed as a part by the next playlist, and arrives with it.
  private mutating func take(
    _ uri: String, _ answer: HTTPConnection.Answer, after playlistAnswer: HTTPConnection.Answer,
    in playlist: MediaPlaylistText
  ) {
    guard let part = playlist.segments.flatMap(\.parts).first(where: { $0.uri == uri }) else {
      return self.problems.append("\(uri) was hinted, and is not listed as a part")
    }
    guard self.keep(uri, answer) else { return }
    let delay = Self.seconds(since: playlistAnswer.instant, answer.instant)
    if delay > 0.5 { self.problems.append("\(uri) arrived \(delay) s after the playlist that lists it") }
    self.hintsReceived += 1
    self.parts.append(ListedFile(uri: uri, duration: part.duration))
  }

  /// Fetches parts that the playlist lists after the hinted one: several are completed at once where one had waited.
  private mutating func fetchParts(
    of playlist: MediaPlaylistText, after hinted: String, from connection: HTTPConnection
  ) throws {
    let parts = playlist.segments.flatMap(\.parts)
    guard let index = parts.firstIndex(where: { $0.uri == hinted }) else { return }
    for part in parts[(index + 1)...] where self.files[part.uri] == nil {
      guard try self.keep(part.uri, connection.get(self.folder + part.uri)) else { continue }
      self.parts.append(ListedFile(uri: part.uri, duration: part.duration))
    }
  }

  private mutating func keep(_ uri: String, _ answer: HTTPConnection.Answer) -> Bool {
    guard answer.status == 200 else {
      self.problems.append("\(uri): \(answer.status) \(answer.text)")
      return false
    }
    let caching = uri.contains("-init") ? "public, max-age=31536000, immutable" : "public, max-age=1, s-maxage=6"
    self.expect(answer, uri, type: "video/mp4", caching: caching)
    self.checker.checkFile(uri, answer.body)
    self.files[uri] = answer.body
    return true
  }

  /// Fetches new complete segments and, again, old files: the first segment and part of the playlist, and segments that the
  /// playlist no longer lists.
  private mutating func fetchNewFiles(
    of playlist: MediaPlaylistText, after before: MediaPlaylistText, from connection: HTTPConnection
  ) throws {
    var wanted: [String] = []
    var hasNewSegment = false
    for segment in playlist.whole {
      guard let uri = segment.uri, self.files[uri] == nil else { continue }
      hasNewSegment = true
      wanted.append(uri)
      // Segments of the first playlist are not measured: their parts were not fetched.
      if segment.parts.allSatisfy({ self.files[$0.uri] != nil }) {
        self.segments.append(ListedFile(uri: uri, duration: segment.duration))
      }
    }
    if hasNewSegment {
      wanted += before.segments.prefix(max(0, playlist.mediaSequence - before.mediaSequence)).compactMap(\.uri)
      wanted += [playlist.segments.first?.uri, playlist.segments.first?.map].compactMap { $0 }
      wanted += playlist.segments.flatMap(\.parts).prefix(1).map(\.uri)
    }
    for uri in wanted where try !self.keep(uri, connection.get(self.folder + uri)) {
      throw HTTPConnection.Failure(what: self.problems.last ?? uri)
    }
  }

  /// Compares durations in playlists with durations of the samples in the files, in order of arrival.
  private mutating func measure() throws {
    guard let map = self.files.first(where: { $0.key.contains("init") })?.value else {
      throw HTTPConnection.Failure(what: "no initialization segment")
    }
    let frames = try FragmentTimes(initialization: map)
    self.partsMeasured = try self.measure(self.parts, frames)
    self.segmentsMeasured = try self.measure(self.segments, frames)
  }

  private mutating func measure(_ named: [ListedFile], _ frames: FragmentTimes) throws -> Int {
    var end: Double?
    var previousMaximum = 0.0
    for file in named {
      guard let bytes = self.files[file.uri], let span = try frames.span(of: bytes) else {
        self.problems.append("\(file.uri) has no frames")
        continue
      }
      // A sample before a frame that the source dropped lasts longer, beyond the end of its part.
      let tolerance = max(frames.frameInterval, span.maximumDuration, previousMaximum)
      if abs(span.end - span.start - file.duration) > tolerance {
        self.problems.append("\(file.uri) lasts \(span.end - span.start) s, the playlist says \(file.duration) s")
      }
      if let end, abs(span.start - end) > 0.001 { self.problems.append("\(file.uri) starts \(span.start - end) s off") }
      (end, previousMaximum) = (span.end, span.maximumDuration)
    }
    return named.count
  }
}

/// Reads sample times of the video track from fMP4 fragments.
struct FragmentTimes {
  /// Frame interval in seconds, at 30 frames per second.
  let frameInterval = 1 / 30.0
  private let extends: [TrackExtends]
  private let trackID: UInt32
  private let timescale: Double

  /// - Parameter initialization: The initialization segment. Its first track is video.
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

  /// Start of the first sample, end of the last, and maximum sample duration, in seconds; nil without samples.
  func span(of bytes: [UInt8]) throws -> (start: Double, end: Double, maximumDuration: Double)? {
    var span: (start: Double, end: Double, maximumDuration: Double)?
    for box in try MP4Box.boxes(in: ByteBuffer(bytes: bytes)) where box.type == "moof" {
      let fragment = try MovieFragment(parsing: box, extends: self.extends)
      for track in fragment.tracks where track.trackID == self.trackID {
        let durations = track.samples.map { UInt64($0.duration) }
        span = (
          span?.start ?? Double(track.baseDecodeTime) / self.timescale,
          Double(track.baseDecodeTime + durations.reduce(0, +)) / self.timescale,
          max(span?.maximumDuration ?? 0, Double(durations.max() ?? 0) / self.timescale)
        )
      }
    }
    return span
  }
}
