import Media
import Serving
import Testing

@Suite("Turns of the viewer groups of an event loop")
struct TurnScheduleTests {
  private func time(_ microseconds: Int64) -> MediaTime { .zero + .microseconds(microseconds) }

  /// A step in words.
  private func text(_ step: TurnSchedule<String>.Step) -> String {
    switch step {
    case .run(let name): name
    case .pause: "pause"
    case .none: "-"
    }
  }

  @Test func `groups that send little follow each other without a pause`() {
    var schedule = TurnSchedule<String>()
    for (index, name) in ["a", "b", "c", "a"].enumerated() {
      let now = Int64(index) * 200
      #expect(self.text(schedule.wakeUp(name, at: self.time(now))) == name)
      let next = schedule.turnEnded(name, hasMore: false, startedAt: self.time(now), at: self.time(now + 190))
      #expect(self.text(next) == "-")
    }
  }

  @Test func `after a millisecond of turns the sockets are served before the next one`() {
    var schedule = TurnSchedule<String>()
    _ = schedule.wakeUp("a", at: self.time(0))
    #expect(
      self.text(schedule.turnEnded("a", hasMore: false, startedAt: self.time(0), at: self.time(1000))) == "-",
      "no group waits")
    #expect(self.text(schedule.wakeUp("b", at: self.time(1001))) == "pause")
    #expect(self.text(schedule.wakeUp("c", at: self.time(1002))) == "-", "one pause for all")
    #expect(schedule.pauseEnded() == "b")
    #expect(
      self.text(schedule.turnEnded("b", hasMore: false, startedAt: self.time(1060), at: self.time(1100))) == "c",
      "the time of turns counts from the pause on")
    #expect(
      self.text(schedule.turnEnded("c", hasMore: false, startedAt: self.time(1100), at: self.time(1140))) == "-")
    #expect(schedule.pauseEnded() == nil)
  }

  @Test func `a millisecond without turns is a pause`() {
    var schedule = TurnSchedule<String>()
    _ = schedule.wakeUp("a", at: self.time(0))
    _ = schedule.turnEnded("a", hasMore: false, startedAt: self.time(0), at: self.time(5000))
    #expect(self.text(schedule.wakeUp("b", at: self.time(6000))) == "b")
  }

  @Test func `a group with a backlog pauses after each turn, and waits behind the others`() {
    var schedule = TurnSchedule<String>()
    _ = schedule.wakeUp("a", at: self.time(0))
    #expect(self.text(schedule.turnEnded("a", hasMore: true, startedAt: self.time(0), at: self.time(10))) == "pause")
    #expect(self.text(schedule.wakeUp("b", at: self.time(20))) == "-")
    #expect(schedule.waitingCount == 2)
    #expect(schedule.pauseEnded() == "a")
    #expect(self.text(schedule.turnEnded("a", hasMore: true, startedAt: self.time(60), at: self.time(70))) == "pause")
    #expect(schedule.pauseEnded() == "b")
    #expect(self.text(schedule.turnEnded("b", hasMore: false, startedAt: self.time(120), at: self.time(130))) == "a")
    #expect(self.text(schedule.turnEnded("a", hasMore: false, startedAt: self.time(130), at: self.time(140))) == "-")
    #expect(schedule.waitingCount == 0)
  }

  @Test func `turns that take long pause although no group has a backlog`() {
    var schedule = TurnSchedule<String>()
    _ = schedule.wakeUp("a", at: self.time(0))
    _ = schedule.turnEnded("a", hasMore: true, startedAt: self.time(0), at: self.time(10))
    _ = schedule.wakeUp("b", at: self.time(20))
    _ = schedule.pauseEnded()
    #expect(
      self.text(schedule.turnEnded("a", hasMore: false, startedAt: self.time(60), at: self.time(2000))) == "pause")
    #expect(schedule.pauseEnded() == "b")
  }
}
