import CLibav
import Foundation
import Media
import TestSupport
import Testing
import Threading

@testable import MediaInput

@Suite("Video that begins amid a group", .timeLimit(.minutes(5)))
struct GroupStartTests {
  /// A pattern of some seconds, and white from the next keyframe on.
  private static func film(_ codec: String, seconds: Int) throws -> String {
    let frames = 25 * seconds
    let options =
      codec == "libx265"
      ? ["-x265-params", "log-level=none:keyint=\(frames):min-keyint=\(frames):scenecut=0:bframes=0"]
      : ["-g", "\(frames)", "-sc_threshold", "1000000000", "-bf", "0"]
    return try TestMedia.path(
      "white_after_\(seconds)_\(codec).ts",
      [
        "-f", "lavfi", "-i", "testsrc2=s=160x96:r=25:d=\(seconds)", "-f", "lavfi", "-i",
        "color=white:s=160x96:r=25:d=2",
        "-filter_complex", "[0][1]concat", "-pix_fmt", "yuv420p", "-c:v", codec,
      ] + options + ["-f", "mpegts"])
  }

  @Test(arguments: ["libx265", "mpeg2video"])
  func `a network source waits for the keyframe, and shows no damaged frame`(codec: String) throws {
    var opened: UnsafeMutablePointer<AVFormatContext>?
    try #require(avformat_open_input(&opened, try Self.film(codec, seconds: 6), nil, nil) == 0)
    defer { avformat_close_input(&opened) }
    let context = try #require(opened)
    try #require(avformat_find_stream_info(context, nil) >= 0)
    let track = try NetworkVideoTrack(
      stream: try #require(context.pointee.streams[0]), frameRate: 25, isUntimed: false, source: "a camera")
    let collector = SampleCollector()
    var number: Int64 = 0
    while let demuxed = LibavPacket(), av_read_frame(context, demuxed.pointer) == 0 {
      defer { number += 1 }
      // Behind the first keyframe.
      guard number >= 20 else { continue }
      var packet = NetworkPacket(demuxed, kind: .video)
      let time = MediaTime.zero + .milliseconds(40 * number)
      packet.times = .init(decode: time, presentation: time)
      track.handle(packet, to: collector)
    }
    let state = collector.state.withLock { $0 }
    #expect(state.waits.count == 1 && state.waits.first?.cause.contains("no frame yet") == true, "\(state.waits)")
    #expect(state.frameCount > 40 && state.frames.allSatisfy { pixels($0)[48 * 160 + 80] > 200 })
  }

  @Test func `a file shows no damaged frame, in no pass`() throws {
    let packets = try Data(contentsOf: URL(filePath: try Self.film("libx265", seconds: 3)))
    let start = packets.count / 188 / 6 * 188
    let path = try TestMedia.path("amid.ts", bytes: packets.prefix(3 * 188) + packets.dropFirst(start))
    let luma = try PlayedFile(path, loopedFor: .seconds(7)).frames.map { pixels($0)[48 * 160 + 80] }
    #expect(luma.count { $0 > 200 } > 60 && luma.allSatisfy { $0 > 200 || $0 < 20 }, "\(luma)")
  }
}
