import Capture
import Media
import Synchronization
import TestSupport
import Testing
import Threading

@testable import Streaming

// Sources that fail, or hang, before they are shown.
extension LiveStreamSwitchTests {
  @Test func `a source that fails to start leaves the previous one in place`() async throws {
    let stream = try await self.startedStream()
    let broken = ScriptedVideoCapturer(failure: Self.failure)
    await #expect(throws: Self.failure) { try await stream.switchVideo(to: broken) }
    #expect(broken.stops == 0 && self.first.stops == 0 && stream.videoSource === self.first)
    let time = StreamClock.system.now()
    self.first.deliver(at: time)
    #expect(self.nextTime(from: time) == time)
    await stream.stop()
  }

  @Test(arguments: [nil, Self.failure] as [VidiconError?])
  func `a source that ends before its first frame leaves the previous one in place`(error: VidiconError?)
    async throws
  {
    let stream = try await self.startedStream()
    let change = Task { () async -> VidiconError? in
      do throws(VidiconError) {
        try await stream.switchVideo(to: self.second)
        return nil
      } catch {
        return error
      }
    }
    try await stream.eventually { self.second.isStarted }
    self.second.end(error)
    let ending = VidiconError(
      .failed, subject: "new video source", cause: "it ended before its first frame",
      nextStep: "check that it has video")
    #expect(await change.value == error ?? ending)
    #expect(self.second.stops == 1 && self.first.stops == 0)
    await stream.stop()
  }

  @Test func `a source without a frame in time is given up and stopped`() async throws {
    var settings = Self.patient()
    settings.switchTimeouts.firstItem = .milliseconds(50)
    let stream = try await self.startedStream(settings)
    let error = VidiconError(
      .failed, subject: "new video source", cause: "it delivered no frame within 0.05 s",
      nextStep: "check that it is on and not used by another program, then try again")
    await #expect(throws: error) { try await stream.switchVideo(to: self.second) }
    #expect(self.second.stops == 1 && self.first.stops == 0)
    await stream.stop()
  }

  @Test func `a start that hangs is given up, and its source is stopped when it returns`() async throws {
    var settings = Self.patient()
    // Long enough for the thread of the second source to begin on a busy machine.
    settings.switchTimeouts.start = .seconds(1)
    let stream = try await self.startedStream(settings)
    let held = ScriptedVideoCapturer(isHeld: true)
    let error = VidiconError(
      .failed, subject: "new video source", cause: "it was not open after 1.0 s",
      nextStep: "check that it answers, then try again")
    await #expect(throws: error) { try await stream.switchVideo(to: held) }
    #expect(held.stops == 0)
    // A source must not be started from two threads at once.
    let again = VidiconError(
      .failed, subject: "new source", cause: "it is still being opened since the last try",
      nextStep: "try again when that has ended, or use another one")
    await #expect(throws: again) { try await stream.switchVideo(to: held) }
    try await stream.eventually { held.starts > 0 }
    #expect(held.starts == 1)
    try await self.change(stream, to: self.second)
    held.release()
    try await stream.eventually { held.stops > 0 }
    #expect(stream.videoSource === self.second)
    await stream.stop()
    #expect(held.stops == 1 && self.second.stops == 1)
  }

  @Test func `a source that hangs when it is opened gets one thread, however often it is requested by name`()
    async throws
  {
    var settings = Self.patient()
    // Long enough for the thread of the second source to begin on a busy machine.
    settings.switchTimeouts.start = .seconds(1)
    let stream = try await self.startedStream(settings)
    let held = (0..<6).map { _ in ScriptedVideoCapturer(isHeld: true) }
    for capturer in held {
      await #expect(throws: VidiconError.self) {
        try await stream.switchVideo(to: capturer, named: "v4l2:/dev/video1", replacing: nil)
      }
    }
    try await stream.eventually { held[0].starts > 0 }
    #expect(held.map(\.starts) == [1, 0, 0, 0, 0, 0])
    // Others can still be opened.
    async let change: Void = stream.switchVideo(to: self.second, named: "v4l2:/dev/video2", replacing: nil)
    try await stream.eventually { self.second.isStarted }
    self.second.deliver(at: StreamClock.system.now())
    try await change
    held[0].release()
    // The name is free after the stop.
    try await stream.eventually { held[0].stops == 1 && stream.state.withLock { $0.openings.isEmpty } }
    await #expect(throws: VidiconError.self) {
      try await stream.switchVideo(to: held[5], named: "v4l2:/dev/video1", replacing: nil)
    }
    try await stream.eventually { held[5].starts == 1 }
    held[5].release()
    await stream.stop()
  }

  @Test func `sources of any name that hang have at most eight threads`() async throws {
    var settings = Self.patient()
    settings.switchTimeouts.start = .milliseconds(20)
    let stream = try await self.startedStream(settings)
    let held = (0..<10).map { _ in ScriptedVideoCapturer(isHeld: true) }
    for (index, capturer) in held.enumerated() {
      await #expect(throws: VidiconError.self) {
        try await stream.switchVideo(to: capturer, named: "\(index)", replacing: nil)
      }
    }
    // A source may be given up before its thread has begun.
    try await stream.eventually { held.prefix(8).allSatisfy { $0.starts > 0 } }
    #expect(held.map(\.starts) == [1, 1, 1, 1, 1, 1, 1, 1, 0, 0])
    for capturer in held { capturer.release() }
    await stream.stop()
  }
}
