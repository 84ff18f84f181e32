import Foundation
import Media
import TestSupport
import Testing

@testable import MediaInput

@Suite("Slide shows that were joined", .timeLimit(.minutes(5)))
struct JoinedSlidesTests {
  /// A slide show of ten seconds that is a part of a file.
  struct Film: CustomTestStringConvertible, Sendable {
    var container: String
    /// Seconds that a frame is shown for.
    var interval: Int
    var hasAudio = true
    /// Time by which the clock of the later clips is ahead, in seconds.
    var ahead = 0

    var testDescription: String {
      "\(self.container), \(self.interval) s, \(self.hasAudio ? "audio" : "no audio"), \(self.ahead) s ahead"
    }
  }

  private static let films = ["ts", "flv", "mkv"].flatMap { container in
    [1, 5].flatMap { interval in
      [
        Film(container: container, interval: interval), Film(container: container, interval: interval, hasAudio: false),
        Film(container: container, interval: interval, ahead: 60),
        // Only in transport streams is a minute without a frame no gap.
        Film(
          container: container, interval: interval, hasAudio: false, ahead: container == "ts" ? 60 : 3_600),
      ]
    }
  }

  /// A clip whose first frame is white and whose others are black, with a beep in its first tenth of a second.
  private static func clip(_ film: Film, ahead: Int) throws -> Data {
    let source = try TestMedia.path(
      "slides-\(film.interval).mp4",
      [
        "-f", "lavfi", "-i",
        "color=black:s=160x96:r=1/\(film.interval):d=10,drawbox=c=white:t=fill:enable='lt(n,1)'", "-f", "lavfi", "-i",
        "aevalsrc='0.5*sin(2*PI*1000*t)*lt(t,0.1)':s=48000:d=10", "-pix_fmt", "yuv420p", "-preset", "ultrafast",
        "-c:a", "aac",
      ])
    let options = film.container == "mkv" ? ["-live", "1"] : []
    let tracks = film.hasAudio ? [] : ["-an"]
    let path = try TestMedia.path(
      "slides-\(film.interval)-\(ahead)-\(film.hasAudio).\(film.container)",
      ["-i", source, "-c", "copy", "-output_ts_offset", "\(ahead)"] + tracks + options)
    return try Data(contentsOf: URL(filePath: path))
  }

  /// Times at which the frames become white.
  private static func starts(of frames: [VideoFrame]) -> [MediaTime] {
    var (result, wasWhite) = ([MediaTime](), false)
    for frame in frames {
      let isWhite = pixels(frame)[48 * 160 + 80] > 200
      if isWhite, !wasWhite { result.append(frame.timestamp) }
      wasWhite = isWhite
    }
    return result
  }

  @Test(arguments: Self.films) func `each clip is shown after the one before, in sync`(film: Film) throws {
    let (first, next) = (try Self.clip(film, ahead: 0), try Self.clip(film, ahead: film.ahead))
    // In FLV (version 10.1, annex E) each has a header of 9 bytes and the size of no tag.
    let bytes = first + next.dropFirst(film.container == "flv" ? 13 : 0)
    let path = try TestMedia.path(
      "joined-slides-\(film.interval)-\(film.ahead)-\(film.hasAudio).\(film.container)", bytes: bytes)
    let played = try PlayedFile(path)
    let (shown, beeps) = (Self.starts(of: played.frames), beginnings(of: played.blocks))
    try #require(shown.count == 2, "\(shown.map(\.nanoseconds)) of \(played.frames.count)")
    #expect(abs((shown[1] - shown[0]).nanoseconds - 10_000_000_000) < 200_000_000, "\((shown[1] - shown[0]).seconds)")
    let last = try #require(played.frames.last)
    #expect((last.timestamp - shown[1]).nanoseconds <= 10_000_000_000)
    guard film.hasAudio else { return }
    try #require(beeps.count == 2)
    for (flash, beep) in zip(shown, beeps) {
      #expect(abs((flash - beep).nanoseconds) < 80_000_000, "\((flash - beep).seconds)")
    }
  }
}
