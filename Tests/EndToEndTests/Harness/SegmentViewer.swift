import Containers
import Foundation
import HLSRules
import NIOCore
import TransportStreams

/// Plays a playlist of MPEG-TS segments and checks playlist and files against the rules of HLS.
struct SegmentViewer: Sendable {
  private(set) var checker = HLSRuleChecker(tolerance: 1.25)
  private(set) var problems: [String] = []
  private(set) var segmentsMeasured = 0

  private let folder: String
  private var demuxer = TransportStreamDemuxer()
  private var lastNumber = -1
  /// Durations in the playlist, and the time of the first frame of each segment, in seconds.
  private var durations: [Double] = []
  private var starts: [Double] = []

  /// Plays `/NAME/playlist.m3u8` for some seconds.
  static func watch(_ name: String, port: Int, seconds: Double) throws -> SegmentViewer {
    var viewer = SegmentViewer(folder: "/\(name)/")
    try viewer.watch(port: port, seconds: seconds)
    return viewer
  }

  private init(folder: String) {
    self.folder = folder
  }

  private mutating func watch(port: Int, seconds: Double) throws {
    let start = ContinuousClock.now
    let connection = try HTTPConnection(port: port)
    while (.now - start) / .seconds(1) < seconds {
      let answer = try connection.get(self.folder + "playlist.m3u8")
      guard answer.status == 200 else { throw HTTPConnection.Failure(what: "\(answer.status) \(answer.text)") }
      self.expect(answer, "playlist", type: "application/vnd.apple.mpegurl", caching: "public, max-age=1")
      self.checker.check(answer.text, at: (answer.instant - start) / .seconds(1))
      try self.fetchNewSegments(of: MediaPlaylistText(answer.text), from: connection)
      // Half a target duration, the minimum reload interval of RFC 8216 §6.3.4.
      try connection.expectNothing(for: .milliseconds(500))
    }
    self.measure()
  }

  private mutating func expect(_ answer: HTTPConnection.Answer, _ what: String, type: String, caching: String) {
    let (actualType, actualCaching) = (answer.fields["content-type"], answer.fields["cache-control"])
    if actualType != type { self.problems.append("\(what) is of type \(actualType ?? "none")") }
    if actualCaching != caching { self.problems.append("\(what) has Cache-Control \(actualCaching ?? "none")") }
  }

  private mutating func fetchNewSegments(of playlist: MediaPlaylistText, from connection: HTTPConnection) throws {
    for (index, segment) in playlist.segments.enumerated() {
      guard let uri = segment.uri, index == 0 || playlist.number(index) > self.lastNumber else { continue }
      let answer = try connection.get(self.folder + uri)
      guard answer.status == 200 else { throw HTTPConnection.Failure(what: "\(uri): \(answer.status)") }
      self.expect(answer, uri, type: "video/mp2t", caching: "public, max-age=1, s-maxage=6")
      self.checker.checkFile(uri, answer.body)
      guard playlist.number(index) > self.lastNumber else { continue }
      if self.lastNumber >= 0, playlist.number(index) != self.lastNumber + 1 {
        self.problems.append("segment \(playlist.number(index)) follows \(self.lastNumber)")
      }
      self.lastNumber = playlist.number(index)
      self.durations.append(segment.duration)
      self.demultiplex(answer.body, uri)
    }
  }

  /// Demultiplexes a segment. One demultiplexer reads all segments, so that continuity counters are checked across them.
  private mutating func demultiplex(_ bytes: [UInt8], _ uri: String) {
    var start: Double?
    for event in self.demuxer.demux(ByteBuffer(bytes: bytes)) {
      // 0xE0: video, ISO/IEC 13818-1 table 2-22. A packet is reported when the next one starts.
      guard case .packet(let packet, let isRandomAccess, _) = event, packet.streamID == 0xE0, isRandomAccess else {
        continue
      }
      start = start ?? packet.presentationTimestamp.map { Double($0) / 90_000 }
    }
    if let start { self.starts.append(start) } else { self.problems.append("\(uri) does not start with a keyframe") }
  }

  private mutating func measure() {
    if self.demuxer.damageCount + self.demuxer.discontinuityCount > 0 {
      self.problems.append("\(self.demuxer.damageCount) damaged, \(self.demuxer.discontinuityCount) discontinuities")
    }
    for (index, (next, start)) in zip(self.starts.dropFirst(), self.starts).enumerated() {
      if abs(next - start - self.durations[index]) > 1 / 30.0 {
        self.problems.append("a segment lasts \(next - start) s, the playlist says \(self.durations[index]) s")
      }
      self.segmentsMeasured += 1
    }
  }
}
