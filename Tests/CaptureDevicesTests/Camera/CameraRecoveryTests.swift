import Media
import Testing

@testable import CaptureDevices

@Suite("A camera that was lost")
struct CameraRecoveryTests {
  /// What came from a camera that gave pictures for so long.
  private static func run(_ duration: MediaDuration, trial: MediaDuration = .zero) -> CameraOutput.Run {
    var run = CameraOutput.Run(trial: trial)
    _ = run.admits(.zero, isStart: true)
    _ = run.admits(.zero + duration, isStart: true)
    return run
  }

  @Test func `is opened less and less often when it fails time and again`() {
    var recovery = CameraRecovery()
    var intervals: [MediaDuration] = []
    for _ in 0..<8 {
      _ = recovery.handleFailure(after: Self.run(.seconds(1)))
      intervals.append(recovery.interval)
    }
    #expect(intervals == [400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000].map { .milliseconds($0) })
    _ = recovery.handleFailure(after: Self.run(.seconds(6)))
    #expect(recovery.interval == .milliseconds(400) && recovery.trial == .zero)
  }

  @Test func `is told of when it was shown, and the first time`() {
    var recovery = CameraRecovery()
    let runs = [(0, false), (0, false), (4, true), (5, true), (1, true)]
    var told: [Bool] = []
    var trials: [MediaDuration] = []
    for (seconds, hasPictures) in runs {
      let run = hasPictures ? Self.run(.seconds(Int64(seconds)), trial: recovery.trial) : CameraOutput.Run()
      told.append(recovery.handleFailure(after: run))
      trials.append(recovery.trial)
    }
    #expect(told == [true, false, false, true, true])
    #expect(trials == [.zero, .seconds(5), .seconds(5), .zero, .seconds(5)])
  }

  @Test func `on trial it is shown from the first picture on that can be decoded alone`() {
    var run = CameraOutput.Run(trial: .seconds(5))
    let times: [(Int64, Bool)] = [(10, true), (12, false), (15, false), (16, true), (17, false)]
    let shown = times.map { run.admits(.zero + .seconds($0.0), isStart: $0.1) }
    #expect(shown == [false, false, false, true, true])
    #expect(run.isShown && run.duration == .seconds(7))
  }

  @Test func `that refuses to open is told of once it stays so`() {
    var recovery = CameraRecovery()
    _ = recovery.handleFailure(after: Self.run(.seconds(1)))
    var told: [Int64] = []
    for time: Int64 in [0, 1000, 2999] where recovery.handleRefusal(at: .zero + .milliseconds(time)) {
      told.append(time)
    }
    // It was pulled out meanwhile.
    recovery.handleAbsence()
    for time: Int64 in [3500, 6499, 6500, 9000, 20_000]
    where recovery.handleRefusal(at: .zero + .milliseconds(time)) {
      told.append(time)
    }
    _ = recovery.handleFailure(after: Self.run(.seconds(60)))
    for time: Int64 in [30_000, 33_000] where recovery.handleRefusal(at: .zero + .milliseconds(time)) {
      told.append(time)
    }
    #expect(told == [6500, 33_000])
  }
}
