import Capture
import Foundation
import Media
import Streaming
import TestSupport
import Testing

@testable import Recording

@Suite("Recordings of a rendition", .timeLimit(.minutes(5)))
struct RenditionRecordingTests {
  private func withStream(_ body: (LiveStream, Rendition) async throws -> Void) async throws {
    let low = RenditionSettings(name: "low", width: 64, height: 48, bitrate: 100_000)
    let stream = LiveStream(
      "cam", video: VideoSettings(width: 128, height: 96, frameRate: 30, renditions: .list([low])),
      audio: AudioSettings())
    stream.attachVideo(PlasmaCapturer(width: 128, height: 96))
    stream.attachAudio(SilenceCapturer())
    try await stream.start()
    do {
      try await body(stream, try #require(stream.rendition(named: "low")))
    } catch {
      await stream.stop()
      throw error
    }
    await stream.stop()
  }

  @Test func `the file has the rendition's size and the stream's audio, and only then it is encoded`() async throws {
    try await withTemporaryFolder { folder in
      try await self.withStream { stream, rendition in
        let path = "\(folder)/low.mp4"
        let recorder = Recorder(rendition, settings: RecordingSettings(try FilePattern(path)))
        #expect(rendition.statistics.users == 0)
        try await recorder.start()
        #expect(rendition.statistics.users == 1)
        try await eventually { rendition.statistics.framesEncoded > 45 }
        let files = await recorder.stop()
        #expect(files.map(\.path) == [path])
        #expect(rendition.statistics.users == 0)
        #expect(try Tools.warnings(path) == "")
        let entries = "stream=codec_name,width,height"
        let tracks = try Tools.run("ffprobe", ["-v", "error", "-show_entries", entries, "-of", "csv=p=0", path]).text
        #expect(tracks.split(separator: "\n") == ["h264,64,48", "aac"])
        // Again, after the first use.
        try await recorder.start()
        #expect(rendition.statistics.users == 1)
        await recorder.stop()
        #expect(rendition.statistics.users == 0)
      }
    }
  }

  @Test func `a recording that cannot start takes no viewer's use away`() async throws {
    try await withTemporaryFolder { folder in
      try await self.withStream { stream, rendition in
        rendition.beginUse()
        let path = "\(folder)/low.mp4"
        try Data("not ours".utf8).write(to: URL(filePath: path))
        let settings = RecordingSettings(try FilePattern(path), existingFiles: .refuse)
        await #expect(throws: VidiconError.self) {
          try await Recorder(rendition, settings: settings).start()
        }
        #expect(rendition.statistics.users == 1)
        rendition.endUse()
      }
    }
  }
}
