import Media
import Testing

@testable import Recording

@Suite("Recording timeline: format changes")
struct FormatChangeTests {
  private let halfFrame = MediaDuration.ticks(1024, timescale: 44_100) / 2

  /// Records from 0 s until `end`, with a format change at `change`.
  private func run(
    _ script: StreamScript = StreamScript(), changeAt change: Double, _ description: CodecDescription, to end: Double
  ) -> TimelineRun {
    var run = TimelineRun(script)
    run.resume(at: 0)
    run.run(to: change)
    run.change(to: description)
    run.run(to: end)
    run.interrupt()
    return run
  }

  @Test(arguments: [60, 500])
  func `a new video format begins a part at its keyframe and loses no sample`(audioDelay: Int64) throws {
    let run = self.run(
      StreamScript(audioDelay: .milliseconds(audioDelay)), changeAt: 4, StreamScript.otherVideo, to: 9)
    #expect(run.formats == [[StreamScript.otherVideo, StreamScript.audio]])
    let (videoFrames, audioFrames) = (run.parts(.video), run.parts(.audio))
    try #require(videoFrames.count == 2)
    #expect(videoFrames[0].map(\.number) == Array(0..<120))
    #expect(videoFrames[1].first?.number == 120)
    #expect(run.numbers(.video) == Array(0..<Int64(run.numbers(.video).count)))
    #expect(run.numbers(.audio) == Array(0..<Int64(run.numbers(.audio).count)))
    #expect(videoFrames[1].first?.place == MediaTime.zero && audioFrames[1].first?.place == MediaTime.zero)
    let end = try #require(audioFrames[0].last).place + self.halfFrame * 2
    // The first audio frame is 7 ms before the first video frame.
    #expect(abs((end - MediaTime.zero - .seconds(4)).nanoseconds) <= self.halfFrame.nanoseconds * 2)
    #expect(abs((run.timeline.totalDuration - .seconds(9)).nanoseconds) < 600_000_000)
  }

  @Test func `video frames of a new format before its first keyframe are dropped`() {
    let run = self.run(changeAt: 4.5, StreamScript.otherVideo, to: 8)
    #expect(run.parts(.video)[0].map(\.number) == Array(0..<135))
    #expect(run.parts(.video)[1].first?.number == 180)
  }

  @Test func `two changes within the audio's delay make three parts`() {
    var run = TimelineRun(StreamScript(keyframeDistance: 15, audioDelay: .milliseconds(900)))
    run.resume(at: 0)
    run.run(to: 3)
    run.change(to: StreamScript.otherVideo)
    run.run(to: 3.5)
    run.change(to: StreamScript.video)
    run.run(to: 7)
    #expect(run.parts(.video).prefix(2).map { $0.map(\.number) } == [Array(0..<90), Array(90..<105)])
    #expect(run.parts(.video).count == 3)
    #expect(run.formats.map { $0[0] } == [StreamScript.otherVideo, StreamScript.video])
  }

  @Test func `a change during a pause, or while waiting for a keyframe, begins the next run in another part`() {
    for isPaused in [true, false] {
      var run = TimelineRun(StreamScript())
      run.resume(at: 0)
      run.run(to: 2.5)
      run.pause()
      run.run(to: 3)
      if !isPaused { run.resume() }
      run.change(to: StreamScript.otherVideo)
      if isPaused { run.resume() }
      run.run(to: 7)
      #expect(run.parts(.video)[0].map(\.number) == Array(0..<75))
      #expect(run.parts(.video)[1].first?.number == 120)
      #expect(run.parts(.video)[1].first?.place == .zero)
      #expect(run.formats.count == 1)
    }
  }

  @Test func `a pause after a change ends both parts at the right frames`() {
    var run = TimelineRun(StreamScript(audioDelay: .milliseconds(600)))
    run.resume(at: 0)
    run.run(to: 4)
    run.change(to: StreamScript.otherVideo)
    run.run(to: 4.2)
    run.pause()
    run.run(to: 6)
    #expect(run.timeline.isPaused)
    #expect(run.parts(.video).map { $0.map(\.number) } == [Array(0..<120), Array(120..<126)])
    #expect(abs((run.timeline.totalDuration - .milliseconds(4200)).nanoseconds) < 1000)
    run.resume()
    run.run(to: 10)
    #expect(run.formats.count == 1, "what follows is of the part's format")
  }

  @Test func `a new audio format takes effect at a requested keyframe, and no video frame is lost`() throws {
    let run = self.run(changeAt: 4.5, StreamScript.otherAudio, to: 9)
    #expect(run.outputs.count { $0 == .keyframeRequest } == 2)
    #expect(run.formats == [[StreamScript.video, StreamScript.otherAudio]])
    #expect(run.parts(.video)[0].map(\.number) == Array(0..<180))
    #expect(run.numbers(.video) == Array(0..<Int64(run.numbers(.video).count)))
    // Audio that arrives from 4.5 s on, captured 60 ms earlier, is dropped until the keyframe at 6 s.
    let changed = try #require(
      (0...).first { run.script.audioFrame($0).presentationTime + .milliseconds(60) >= TimelineRun.time(4.5) })
    #expect(run.parts(.audio)[0].map(\.number) == Array(0..<changed))
    let first = try #require(run.parts(.audio)[1].first)
    let distance = run.script.audioFrame(first.number).presentationTime - TimelineRun.time(6)
    #expect(abs(distance.nanoseconds) <= self.halfFrame.nanoseconds)
  }

  @Test func `an audio-only recording begins another part at once`() {
    let run = self.run(StreamScript(hasVideo: false), changeAt: 4.5, StreamScript.otherAudio, to: 9)
    #expect(run.parts(.audio).count == 2)
    #expect(run.numbers(.audio) == Array(1...Int64(run.numbers(.audio).count)))
    #expect(run.parts(.audio)[1].first?.place == .zero)
  }

  @Test func `the same format, and a change of a track that is not recorded, have no effect`() {
    #expect(self.run(changeAt: 4, StreamScript.video, to: 8).formats == [])
    #expect(self.run(StreamScript(hasAudio: false), changeAt: 4, StreamScript.audio, to: 8).formats == [])
  }
}
