import Capture
import Media
import Synchronization
import Testing

@testable import Streaming

@Suite("Sources attached while a stream runs", .timeLimit(.minutes(5)))
struct AttachWhileRunningTests {
  /// Video capturer that fails to start.
  private final class Broken: VideoCapturer {
    static let error = VidiconError(.failed, subject: "broken", cause: "it does not start", nextStep: "mend it")

    let format = VideoFormat(width: 64, height: 36)
    let isStarted = false
    func start(consumer: any VideoConsumer) throws(VidiconError) { throw Self.error }
    func stop() {}
  }

  private func withStream(_ body: (LiveStream) async throws -> Void) async throws {
    let stream = LiveStream("a", video: VideoSettings(width: 64, height: 36, frameRate: 30))
    stream.attachVideo(BarsCapturer(width: 64, height: 36))
    stream.attachAudio(ToneCapturer())
    try await stream.start()
    do {
      try await body(stream)
    } catch {
      await stream.stop()
      throw error
    }
    await stream.stop()
  }

  @Test func `sources take over in the order of their calls`() async throws {
    try await self.withStream { stream in
      let (video, audio) = (PlasmaCapturer(width: 64, height: 36), SilenceCapturer())
      let previous = NoiseCapturer(width: 64, height: 36)
      stream.attachVideo(previous)
      stream.attachVideo(video)
      stream.attachAudio(audio)
      try await stream.eventually { stream.audioSource === audio }
      #expect(stream.videoSource === video && video.isStarted && !previous.isStarted)
    }
  }

  @Test func `a source that fails is reported, and the previous one stays`() async throws {
    try await self.withStream { stream in
      let previous = stream.videoSource
      stream.attachVideo(Broken())
      for await event in stream.events {
        guard case .switchFailed(let kind, let error) = event else { continue }
        #expect(kind == .video && error == Broken.error)
        break
      }
      #expect(stream.videoSource === previous)
    }
  }

  @Test func `a call after the end changes nothing`() async throws {
    let stream = LiveStream("a")
    stream.attachAudio(SilenceCapturer())
    try await stream.start()
    await stream.stop()
    let audio = ToneCapturer()
    stream.attachAudio(audio)
    let attachment = try #require(stream.state.withLock { $0.attachment })
    await attachment.value
    #expect(stream.audioSource == nil && !audio.isStarted)
  }
}
