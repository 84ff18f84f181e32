import Capture
import Foundation
import Media
import TestSupport
import Testing

@testable import MediaInput

@Suite("Transport streams of two programs", .timeLimit(.minutes(5)))
struct ProgramsTests {
  /// A red film with 440 Hz, and a larger one in lime with 880 Hz.
  private static func path() throws -> String {
    try TestMedia.path(
      "programs.ts",
      [
        "-f", "lavfi", "-i", "color=red:s=160x96:r=25:d=4", "-f", "lavfi", "-i", "sine=440:r=48000:d=4",
        "-f", "lavfi", "-i", "color=lime:s=320x180:r=25:d=4", "-f", "lavfi", "-i", "sine=880:r=48000:d=4",
        "-map", "0:v", "-map", "1:a", "-map", "2:v", "-map", "3:a", "-c:v", "mpeg2video", "-b:v", "1M",
        "-pix_fmt", "yuv420p", "-c:a", "aac", "-program", "title=A:st=0:st=1", "-program", "title=B:st=2:st=3",
        "-f", "mpegts",
      ])
  }

  /// Lime of BT.601: Y = 16 + 0.504 × 255. Red would be 81.
  private static func isLime(_ frame: VideoFrame) -> Bool {
    frame.format.width == 320 && frame.format.height == 180
      && frame.withPlane(0) { abs(Int($0[90 * frame.format.bytesPerRow[0] + 160]) - 145) < 6 }
  }

  @Test func `a file shows the largest frames with the audio of their program`() throws {
    let file = try DecodedFile(try Self.path(), Self.isLime)
    #expect(file.frames.count > 95 && file.frames.allSatisfy(\.self))
    #expect(abs(file.audio.tone() - 880) < 5, "\(file.audio.tone()) Hz")
  }

  @Test func `a network source shows the largest frames with the audio of their program`() throws {
    let name = URL(filePath: try Self.path()).lastPathComponent
    let server = try LocalServer.files(in: TestMedia.folder.path)
    let source = try NetworkSource(url: "http://127.0.0.1:\(server.port)/\(name)")
    let (video, audio) = (SampleCollector(), AudioCollector())
    try #require(source.video).start(consumer: video)
    try #require(source.audio).start(consumer: audio)
    let frames = video.wait { $0.frameCount >= 5 }.frames
    let blocks = audio.blocks(samples: 48_000)
    source.video?.stop()
    source.audio?.stop()
    #expect(frames.count == 5 && frames.allSatisfy { Self.isLime($0) })
    #expect(abs(blocks.tone() - 880) < 5, "\(blocks.tone()) Hz")
  }
}
