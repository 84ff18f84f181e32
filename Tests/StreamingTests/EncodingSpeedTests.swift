import Media
import Testing

@testable import Streaming

@Suite("Speed of an encoder", .timeLimit(.minutes(5)))
struct EncodingSpeedTests {
  @Test func `video of a stream's settings is encoded, at some speed`() throws {
    let settings = VideoSettings(width: 64, height: 48, frameRate: 15)
    // One frame at a limit that is over at once.
    for limit in [MediaDuration.seconds(300), .zero] {
      #expect(try EncodingSpeed.realTimeFactor(of: settings, duration: .seconds(1), limit: limit) > 0)
    }
  }

  @Test func `an encoder that does not exist is an error with those that do`() {
    let error = #expect(throws: VidiconError.self) {
      try EncodingSpeed.realTimeFactor(of: VideoSettings(width: 64, height: 48, encoder: "none"))
    }
    #expect(error?.code == .notFound && error?.nextStep.contains("libx264") == true)
  }

  @Test func `frames go forward and backward, so that neighbors are alike`() {
    #expect((0..<9).map { EncodingSpeed.index(of: $0, among: 4) } == [0, 1, 2, 3, 2, 1, 0, 1, 2])
    #expect((0..<3).map { EncodingSpeed.index(of: $0, among: 1) } == [0, 0, 0])
    #expect((0..<4).map { EncodingSpeed.index(of: $0, among: 2) } == [0, 1, 0, 1])
  }
}
