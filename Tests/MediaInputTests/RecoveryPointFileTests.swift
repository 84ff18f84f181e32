import Bitstreams
import Foundation
import Media
import NIOCore
import TestSupport
import Testing

@testable import MediaInput

/// Films that were cut without being encoded again, so that they begin amid what an encoder has made.
@Suite("Files without IDR access units, ITU-T H.264 §D.2.8", .timeLimit(.minutes(5)))
struct RecoveryPointFileTests {
  /// A way to encode a film, of which the part from the recovery point after 2.5 s on is played.
  struct Film: CustomTestStringConvertible, Sendable {
    var name: String
    /// Options of x264.
    var options: String
    /// Whether the recovery points are removed.
    var isUnmarked = false
    /// Seconds of the whole film, of 10 frames each; the part begins at 4 s.
    var duration = 8
    /// Number of the part's frames that refer to none before it.
    var wholeCount: Int

    var testDescription: String { self.name }
  }

  private static let refresh = "intra-refresh=1:keyint=20:min-keyint=20:bframes=0:scenecut=0"
  private static let openGroups = "open-gop=1:keyint=20:min-keyint=20:bframes=2:scenecut=0"
  private static let films = [
    // Eight frames refresh the columns, with the one at the recovery point.
    Film(name: "refresh", options: Self.refresh, wholeCount: 32),
    Film(name: "open-groups", options: Self.openGroups, wholeCount: 40),
    Film(name: "unmarked-groups", options: Self.openGroups, isUnmarked: true, wholeCount: 40),
    // Frames of a refresh that is not marked are shown from 20 s on.
    Film(name: "unmarked-refresh", options: Self.refresh, isUnmarked: true, duration: 28, wholeCount: 40),
  ]

  /// Luma of the frames of a film, and of those of its part.
  private static func frames(_ film: Film) throws -> (film: [[UInt8]], part: [[UInt8]]) {
    let whole = try TestMedia.path(
      "whole-\(film.name).ts",
      [
        "-f", "lavfi", "-i", "testsrc2=s=160x96:r=10:d=\(film.duration)", "-c:v", "libx264", "-preset", "ultrafast",
        "-pix_fmt", "yuv420p", "-x264opts", film.options,
      ])
    // Type 6 is supplemental enhancement information.
    let filter = film.isUnmarked ? ["-bsf:v", "filter_units=remove_types=6"] : []
    let part = try TestMedia.path("part-\(film.name).ts", ["-ss", "2.5", "-i", whole, "-c", "copy"] + filter)
    let stream = try TestMedia.path("part-\(film.name).h264", ["-i", part, "-c", "copy", "-copyinkf"])
    let bytes = ByteBuffer(bytes: try Data(contentsOf: URL(filePath: stream)))
    let types = AnnexBNALUnits(bytes).map { unit in unit.readableBytesView.first.map { $0 & 0b0001_1111 } ?? 0 }
    try #require(types.contains(1) && !types.contains(5), "an IDR access unit")
    try #require(types.contains(6) != film.isUnmarked)
    return (try DecodedFile(whole) { pixels($0) }.frames, try DecodedFile(part) { pixels($0) }.frames)
  }

  @Test(arguments: Self.films) func `frames come once they are whole, and none before`(film: Film) throws {
    let (frames, part) = try Self.frames(film)
    #expect(frames.count == 10 * film.duration)
    #expect(abs(part.count - film.wholeCount) <= 1, "\(part.count) frames")
    try #require(part.count <= frames.count)
    let damaged = zip(part, frames.suffix(part.count)).enumerated().filter { $0.element.0 != $0.element.1 }
    #expect(damaged.map(\.offset) == [])
  }
}
