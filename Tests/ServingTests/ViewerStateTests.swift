import Media
import Serving
import Testing

@Suite("Decisions about one viewer of a stream")
struct ViewerStateTests {
  private static let keyframe = ViewerState.Delivery(video: .keyframe)
  private static let frame = ViewerState.Delivery(video: .dependent)
  private static let audio = ViewerState.Delivery(hasAudio: true)
  private static let frameWithAudio = ViewerState.Delivery(hasAudio: true, video: .dependent)

  private func time(_ milliseconds: Int64) -> MediaTime {
    .zero + .milliseconds(milliseconds)
  }

  /// A viewer of video and audio over its connection that has started at time zero.
  private func playing() -> ViewerState {
    var state = ViewerState(startsAtKeyframe: true, skipsToKeyframe: true)
    #expect(state.handle(Self.keyframe, at: .zero) == .start)
    return state
  }

  /// A playing viewer whose frame at time zero is unsent.
  private func blocked(byteCount: Int = 1000) -> ViewerState {
    var state = self.playing()
    state.handleBlocked(byteCount: byteCount, at: .zero)
    return state
  }

  @Test func `a viewer with video starts at the first keyframe`() {
    var state = ViewerState(startsAtKeyframe: true, skipsToKeyframe: true)
    #expect(state.handle(Self.audio, at: .zero) == .ignore)
    #expect(state.handle(Self.frameWithAudio, at: .zero) == .ignore)
    #expect(!state.isStarted && !state.acceptsReports)
    #expect(state.handle(.init(hasAudio: true, video: .keyframe), at: self.time(33)) == .start)
    #expect(state.isStarted && state.acceptsReports)
    #expect(state.handle(Self.frameWithAudio, at: self.time(66)) == .send)
    #expect(state.handle(Self.audio, at: self.time(90)) == .send)
  }

  @Test func `several deliveries are sent together while the viewer plays and nothing is unsent`() {
    var state = ViewerState(startsAtKeyframe: true, skipsToKeyframe: true)
    var isSent = state.handleTogether(at: .zero)
    #expect(!isSent, "the viewer waits for a keyframe")
    #expect(state.handle(Self.keyframe, at: .zero) == .start)
    isSent = state.handleTogether(at: self.time(500))
    #expect(isSent)
    // Their age counts from then on.
    state.handleBlocked(byteCount: 1000, at: self.time(510))
    isSent = state.handleTogether(at: self.time(600))
    #expect(!isSent)
    #expect(state.handle(Self.frame, at: self.time(1499)) == .enqueue)
    #expect(state.handle(Self.frame, at: self.time(1500)) == .skip(frames: 2))
    #expect(state.handleDrained(at: self.time(1600)) == .resume(frames: 0, requestsKeyframe: true))
    isSent = state.handleTogether(at: self.time(1610))
    #expect(!isSent, "the viewer waits for a keyframe again")
    #expect(state.handle(Self.keyframe, at: self.time(1620)) == .send)
    isSent = state.handleTogether(at: self.time(1650))
    #expect(isSent)
  }

  @Test func `a viewer with audio only starts at once, and ignores deliveries without audio`() {
    var state = ViewerState(startsAtKeyframe: false, skipsToKeyframe: false)
    #expect(state.handle(.init(), at: .zero) == .ignore)
    #expect(state.handle(Self.audio, at: .zero) == .start)
  }

  @Test func `deliveries are queued while bytes are unsent, and sent one by one afterwards`() {
    var state = self.blocked()
    #expect(state.handle(Self.frameWithAudio, at: self.time(33)) == .enqueue)
    #expect(state.handle(Self.frame, at: self.time(999)) == .enqueue)
    #expect(state.handleDrained(at: self.time(1000)) == .sendQueued)
    #expect(state.handleDrained(at: self.time(1000)) == .sendQueued)
    #expect(state.handleDrained(at: self.time(1000)) == .none)
    #expect(state.handle(Self.frame, at: self.time(1033)) == .send)
  }

  @Test func `when the oldest unsent delivery is one second old, all queued ones are dropped and counted`() {
    var state = self.blocked()
    #expect(state.handle(Self.frame, at: self.time(33)) == .enqueue)
    #expect(state.handle(Self.audio, at: self.time(50)) == .enqueue)
    #expect(state.handle(Self.frame, at: self.time(1000)) == .skip(frames: 2))
    #expect(!state.acceptsReports)
    #expect(state.handle(Self.audio, at: self.time(1010)) == .skip(frames: 0))
    #expect(state.handle(Self.keyframe, at: self.time(1033)) == .skip(frames: 1))
  }

  @Test func `a viewer that was skipped resumes at the keyframe that is requested when the rest is sent`() {
    var state = self.blocked()
    #expect(state.handle(Self.frame, at: self.time(1000)) == .skip(frames: 1))
    #expect(state.handleDrained(at: self.time(8000)) == .resume(frames: 0, requestsKeyframe: true))
    #expect(state.acceptsReports)
    #expect(state.handle(Self.frame, at: self.time(8010)) == .skip(frames: 1))
    #expect(state.handle(Self.frameWithAudio, at: self.time(8043)) == .sendAudio)
    #expect(state.handle(Self.audio, at: self.time(8050)) == .send)
    #expect(state.handle(Self.keyframe, at: self.time(8076)) == .send)
    #expect(state.handle(Self.frame, at: self.time(8109)) == .send)
  }

  @Test func `deliveries that grew old while nothing else came are dropped, not sent`() {
    var state = self.blocked()
    #expect(state.handle(Self.frame, at: self.time(500)) == .enqueue)
    #expect(state.handleDrained(at: self.time(1500)) == .resume(frames: 1, requestsKeyframe: true))
    #expect(state.handle(Self.frame, at: self.time(1510)) == .skip(frames: 1))
  }

  @Test func `a queued delivery that is sent keeps its age`() {
    var state = self.blocked()
    #expect(state.handle(Self.frame, at: self.time(900)) == .enqueue)
    #expect(state.handleDrained(at: self.time(1000)) == .sendQueued)
    state.handleBlocked(byteCount: 10, at: self.time(1000))
    #expect(state.handle(Self.frame, at: self.time(1899)) == .enqueue)
    #expect(state.handle(Self.frame, at: self.time(1900)) == .skip(frames: 2))
  }

  @Test func `audio without video resumes without a keyframe`() {
    var state = ViewerState(startsAtKeyframe: false, skipsToKeyframe: false)
    #expect(state.handle(Self.audio, at: .zero) == .start)
    state.handleBlocked(byteCount: 10, at: .zero)
    #expect(state.handle(Self.audio, at: self.time(20)) == .enqueue)
    #expect(state.handle(Self.audio, at: self.time(1000)) == .skip(frames: 0))
    #expect(state.handleDrained(at: self.time(1010)) == .none)
    #expect(state.handle(Self.audio, at: self.time(1020)) == .send)
  }

  @Test func `a viewer without progress for ten seconds is closed`() {
    var state = self.blocked()
    #expect(state.nextDeadline == self.time(1000))
    for second in 1...9 as ClosedRange<Int64> {
      #expect(state.handleTimer(byteCount: 1000, at: self.time(second * 1000)) == .none)
    }
    #expect(state.handleTimer(byteCount: 1000, at: self.time(9999)) == .none)
    #expect(state.handleTimer(byteCount: 1000, at: self.time(10_000)) == .close)
  }

  @Test func `a viewer that reads a little is skipped for as long as it takes, and not closed`() {
    var state = self.blocked(byteCount: 1000)
    for second in 1...100 as ClosedRange<Int64> {
      #expect(state.handleTimer(byteCount: 1000 - Int(second), at: self.time(second * 1000)) == .none)
      #expect(state.handle(Self.frame, at: self.time(second * 1000)) == .skip(frames: 1))
    }
  }

  @Test func `progress in the last of ten seconds gives ten more`() {
    var state = self.blocked(byteCount: 1000)
    for second in 1...30 as ClosedRange<Int64> {
      let byteCount = second < 9 ? 1000 : 900
      let action = state.handleTimer(byteCount: byteCount, at: self.time(second * 1000))
      #expect(action == (second < 19 ? .none : .close))
      if action == .close { return }
    }
  }

  @Test func `there is no deadline while everything is sent`() {
    var state = self.blocked()
    #expect(state.handleDrained(at: self.time(500)) == .none)
    #expect(state.nextDeadline == nil)
    #expect(state.handleTimer(byteCount: 0, at: self.time(20_000)) == .none)
  }

  @Test func `a viewer whose responses are unsent before it starts is judged by their age`() {
    var state = ViewerState(startsAtKeyframe: true, skipsToKeyframe: true)
    state.handleBlocked(byteCount: 100, at: self.time(5000))
    #expect(state.handle(Self.keyframe, at: self.time(7000)) == .start)
    #expect(state.handle(Self.frame, at: self.time(7010)) == .skip(frames: 1))
  }
}
