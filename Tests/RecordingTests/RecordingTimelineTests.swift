import Media
import NIOCore
import Testing

@testable import Recording

@Suite("Recording timeline")
struct RecordingTimelineTests {
  private let interval = FrameRate(30).frameInterval
  private let halfFrame = MediaDuration.ticks(1024, timescale: 44_100) / 2

  @Test func `a run requests a keyframe and begins with it, at zero`() throws {
    var run = TimelineRun(StreamScript())
    run.run(to: 0.5)
    run.resume()
    run.run(to: 3.2)
    #expect(run.outputs.first == .keyframeRequest)
    let first = try #require(run.parts(.video)[0].first)
    #expect(first == (60, .zero))
    let audioFrame = try #require(run.parts(.audio)[0].first)
    #expect(audioFrame.place == .zero, "an audio frame that began before the keyframe begins with it")
    #expect(distance(run, videoFrame: first, audioFrame: audioFrame) <= self.halfFrame)
  }

  @Test func `a fragment lasts a second and begins at a keyframe if there is one`() {
    var run = TimelineRun(StreamScript(keyframeDistance: 55))
    run.resume(at: 0)
    run.run(to: 7)
    let starts = run.fragments.map { fragment in
      fragment.first { $0.kind == .video }?.payload.getInteger(at: 0, as: Int64.self)
    }
    // After one second; then at the keyframe, which comes a little earlier.
    #expect(starts == [0, 30, 55, 85, 110, 140, 165])
  }

  @Test func `a fragment contains the audio of its video frames`() {
    var run = TimelineRun(StreamScript())
    run.resume(at: 0)
    run.run(to: 10)
    for (index, fragment) in run.fragments.enumerated() {
      let places = fragment.filter { $0.kind == .audio }.map(\.presentationTime)
      #expect(places.allSatisfy { $0 >= .zero + .seconds(Int64(index)) - self.halfFrame * 2 })
      #expect(places.allSatisfy { $0 < .zero + .seconds(Int64(index) + 1) + self.halfFrame * 2 })
      #expect((43...44).contains(places.count))
    }
    #expect(run.fragments.count == 9)
  }

  @Test func `ten pauses leave no gap, lose and repeat nothing within a run, and keep audio and video in sync`()
    throws
  {
    var run = TimelineRun(StreamScript(keyframeDistance: 7))
    run.resume(at: 0)
    var expected: [Int64] = []
    for index in 0..<11 {
      let start = Double(index) * 3.71
      run.run(to: start + 2.03)
      run.pause()
      run.run(to: start + 3.71)
      #expect(run.timeline.isPaused)
      // From the first keyframe at or after the resumption to the last video frame before the pause.
      let first = Int64((start * 30 / 7).rounded(.up)) * 7
      expected += Array(first...Int64(((start + 2.03) * 30).rounded(.up)) - 1)
      run.resume()
    }
    let videoFrames = run.parts(.video)[0]
    #expect(videoFrames.map(\.number) == expected)
    for (index, videoFrame) in videoFrames.enumerated() {
      // The durations of the runs are summed, each rounded to a nanosecond.
      let place = FrameRate(30).time(ofFrame: Int64(index), from: .zero)
      #expect(abs((videoFrame.place - place).nanoseconds) < 1000)
    }
    let audioFrames = run.parts(.audio)[0]
    for (index, audioFrame) in audioFrames.enumerated() {
      #expect(
        audioFrame.place == MediaTime(ticks: Int64(index) * 1024, timescale: 44_100), "audio follows without a gap")
    }
    // Compares each audio frame with a video frame of the same run.
    var checked = 0
    for audioFrame in audioFrames {
      let time = run.script.audioFrame(audioFrame.number).presentationTime
      guard
        let videoFrame = videoFrames.first(where: {
          abs((run.script.videoFrame($0.number).presentationTime - time).nanoseconds) < 17_000_000
        })
      else { continue }
      #expect(
        distance(run, videoFrame: videoFrame, audioFrame: audioFrame) <= self.halfFrame
          + MediaDuration(nanoseconds: 1000))
      checked += 1
    }
    #expect(checked > 700)
    let end = try #require(videoFrames.last).place + self.interval
    let audioEnd = try #require(audioFrames.last).place + self.halfFrame * 2
    #expect(abs((end - audioEnd).nanoseconds) <= self.halfFrame.nanoseconds + 1000)
  }

  @Test func `parts end at a requested keyframe and lose nothing`() throws {
    var run = TimelineRun(StreamScript(keyframeDistance: 50), limits: .init(duration: .seconds(4)))
    run.resume(at: 0)
    run.run(to: 21)
    run.interrupt()
    let parts = run.parts(.video)
    // The first keyframe after 4 s; keyframes are 5/3 s apart, so every part lasts 5 s.
    #expect(parts.map { $0.first?.number } == [0, 150, 300, 450, 600])
    #expect(run.numbers(.video) == Array(0...(run.numbers(.video).last ?? 0)))
    #expect(run.numbers(.audio) == Array(0...(run.numbers(.audio).last ?? 0)))
    for (videoFrames, audioFrames) in zip(parts, run.parts(.audio)) {
      #expect(videoFrames.first?.place == .zero)
      #expect(audioFrames.first?.place == .zero)
      #expect(distance(run, videoFrame: videoFrames[0], audioFrame: audioFrames[0]) <= self.halfFrame)
      #expect(
        abs((videoFrames[videoFrames.count - 1].place - audioFrames[audioFrames.count - 1].place).nanoseconds)
          < 40_000_000)
    }
    #expect(run.outputs.filter { $0 == .keyframeRequest }.count == 1 + 4)
    #expect(run.timeline.totalDuration > .seconds(20))
  }

  @Test func `parts end before they exceed the size limit`() {
    let limit = 1_000_000
    var run = TimelineRun(
      StreamScript(keyframeDistance: 15, frameByteCount: 5000), limits: .init(byteCount: limit))
    run.resume(at: 0)
    run.run(to: 60)
    run.interrupt()
    let parts = run.outputs.split(separator: .nextPart)
    #expect(parts.count > 8)
    #expect(parts.allSatisfy { $0.count { if case .sample(_, .video, _) = $0 { true } else { false } } * 5016 < limit })
    #expect(parts.dropLast().allSatisfy { $0.count > 150 })
    let numbers = run.numbers(.video)
    #expect(numbers == Array(0..<Int64(numbers.count)))
    #expect(numbers.count >= 1797, "fragments without an audio frame yet are left out")
  }

  @Test func `a recording ends at its total duration`() throws {
    var run = TimelineRun(StreamScript(), limits: .init(duration: .seconds(3), total: .milliseconds(7500)))
    run.resume(at: 0)
    run.run(to: 3)
    run.pause()
    run.run(to: 4)
    run.resume()
    run.run(to: 20)
    #expect(run.timeline.isOver)
    #expect(run.numbers(.video).count == 225)
    #expect(abs((run.timeline.totalDuration - .milliseconds(7500)).nanoseconds) < 1000)
  }

  @Test func `trailing video frames without audio are dropped, up to a second`() throws {
    for (lag, lost) in [(MediaDuration.milliseconds(400), 12), (.seconds(3), 0)] {
      var run = TimelineRun(StreamScript(audioDelay: lag))
      run.resume(at: 0)
      run.run(to: 9.9)
      run.interrupt()
      let count = run.numbers(.video).count
      #expect((297 - lost...297 - lost + 2).contains(count), "\(count) of 297 video frames")
    }
  }

  @Test func `a pause waits for late audio, up to a timeout`() {
    var run = TimelineRun(StreamScript(audioDelay: .milliseconds(300)))
    run.resume(at: 0)
    run.run(to: 2.5)
    run.pause()
    #expect(!run.timeline.isPaused)
    run.run(to: 3)
    #expect(run.timeline.isPaused)
    #expect(run.numbers(.video) == Array(0..<75))

    var silent = TimelineRun(StreamScript(isMissing: { $0.kind == .audio }))
    silent.resume(at: 0)
    silent.run(to: 2.5)
    silent.pause()
    silent.run(to: 3.4)
    #expect(!silent.timeline.isPaused)
    silent.run(to: 3.6)
    #expect(silent.timeline.isPaused)
    #expect(silent.numbers(.video) == Array(0..<75))
  }

  @Test func `audio that starts late is placed by its timestamp`() throws {
    let late = StreamScript.start + .milliseconds(3300)
    var run = TimelineRun(StreamScript(isMissing: { $0.kind == .audio && $0.presentationTime < late }))
    run.resume(at: 0)
    run.run(to: 8)
    let first = try #require(run.parts(.audio)[0].first)
    #expect(first.place >= .zero + .milliseconds(3300))
    #expect(first.place < .zero + .milliseconds(3330))
    #expect(run.fragments.count >= 6, "video frames did not wait for it")
  }

  @Test func `an audio-only recording is contiguous to the sample`() {
    var run = TimelineRun(StreamScript(hasVideo: false), limits: .init(duration: .seconds(5)))
    run.resume(at: 0)
    run.run(to: 12)
    run.pause()
    run.run(to: 14)
    run.resume()
    run.run(to: 16)
    run.interrupt()
    let parts = run.parts(.audio)
    #expect(parts.count == 3)
    #expect(run.numbers(.audio) == run.numbers(.audio).sorted())
    for part in parts {
      #expect(part.map(\.place) == (0..<part.count).map { MediaTime(ticks: Int64($0) * 1024, timescale: 44_100) })
    }
    #expect(!run.outputs.contains(.keyframeRequest))
  }

  @Test func `a recording without audio contains all video frames`() {
    var run = TimelineRun(StreamScript(hasAudio: false))
    run.resume(at: 0)
    run.run(to: 4)
    run.pause()
    #expect(run.timeline.isPaused)
    #expect(run.numbers(.video) == Array(0..<120))
    #expect(abs((run.timeline.duration - .seconds(4)).nanoseconds) < 10)
  }

  @Test func `audio is recorded while no video frames arrive`() throws {
    let gap = StreamScript.start + .seconds(2)..<StreamScript.start + .seconds(14)
    var run = TimelineRun(StreamScript(isMissing: { $0.kind == .video && gap.contains($0.presentationTime) }))
    run.resume(at: 0)
    run.run(to: 16)
    run.interrupt()
    #expect(run.numbers(.audio) == Array(0..<Int64(run.numbers(.audio).count)))
    #expect(run.fragments.count >= 6, "it is written now and then")
    #expect(run.numbers(.video) == Array(0..<60) + Array(420..<Int64(420 + run.numbers(.video).count - 60)))
    let videoFrames = run.parts(.video)[0]
    #expect(abs((videoFrames[60].place - videoFrames[59].place - .seconds(12) - self.interval).nanoseconds) < 10)
  }

  @Test func `resuming during a pause that still waits for audio ends the wait at once`() {
    var run = TimelineRun(StreamScript(keyframeDistance: 5, audioDelay: .milliseconds(300)))
    run.resume(at: 0)
    run.run(to: 2)
    run.pause()
    run.resume()
    run.run(to: 4)
    run.interrupt()
    let numbers = run.numbers(.video)
    #expect(numbers.contains(60))
    #expect(numbers == numbers.sorted())
    let places = run.parts(.video)[0].map(\.place)
    #expect(zip(places, places.dropFirst()).allSatisfy { abs(($1 - $0 - self.interval).nanoseconds) < 1000 })
  }

  @Test func `the number of retained samples is bounded, whatever the length of the recording`() {
    var run = TimelineRun(StreamScript())
    run.resume(at: 0)
    var most = 0
    for second in 1...60 {
      run.run(to: Double(second))
      most = max(most, run.timeline.pendingSampleCount)
    }
    #expect(most < 100, "\(most) samples are kept")
  }

  /// Difference between the audio-to-video offsets of the recording and of the stream.
  private func distance(
    _ run: TimelineRun, videoFrame: (number: Int64, place: MediaTime), audioFrame: (number: Int64, place: MediaTime)
  ) -> MediaDuration {
    let inStream =
      run.script.audioFrame(audioFrame.number).presentationTime
      - run.script.videoFrame(videoFrame.number).presentationTime
    return MediaDuration(nanoseconds: abs((audioFrame.place - videoFrame.place - inStream).nanoseconds))
  }
}
