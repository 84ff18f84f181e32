import Media
import Testing

@testable import CaptureDevices

@Suite("Camera recovery")
struct CameraRecoveryTests {
  /// The run of a camera that delivered frames for a duration.
  private static func run(_ duration: MediaDuration, trial: MediaDuration = .zero) -> CameraOutput.Run {
    var run = CameraOutput.Run(trial: trial)
    _ = run.admit(.zero, isSyncFrame: true)
    _ = run.admit(.zero + duration, isSyncFrame: true)
    return run
  }

  @Test func `a camera that fails repeatedly is reopened with exponential back-off`() {
    var recovery = CameraRecovery()
    var intervals: [MediaDuration] = []
    for _ in 0..<8 {
      _ = recovery.handleLoss(after: Self.run(.seconds(1)), isUnplugged: false)
      intervals.append(recovery.interval)
    }
    #expect(intervals == [400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000].map { .milliseconds($0) })
    _ = recovery.handleLoss(after: Self.run(.seconds(6)), isUnplugged: false)
    #expect(recovery.interval == .milliseconds(400) && recovery.trial == .zero)
  }

  @Test func `a failure is reported when the camera was shown, and the first time`() {
    var recovery = CameraRecovery()
    let runs = [(0, false), (0, false), (4, true), (5, true), (1, true)]
    var reported: [Bool] = []
    var trials: [MediaDuration] = []
    for (seconds, hasFrames) in runs {
      let run = hasFrames ? Self.run(.seconds(Int64(seconds)), trial: recovery.trial) : CameraOutput.Run()
      reported.append(recovery.handleLoss(after: run, isUnplugged: false))
      trials.append(recovery.trial)
    }
    #expect(reported == [true, false, false, true, true])
    #expect(trials == [.zero, .seconds(5), .seconds(5), .zero, .seconds(5)])
  }

  @Test func `after the trial frames are forwarded from the first decodable one on`() {
    var run = CameraOutput.Run(trial: .seconds(5))
    let times: [(Int64, Bool)] = [(10, true), (12, false), (15, false), (16, true), (17, false)]
    let forwarded = times.map { run.admit(.zero + .seconds($0.0), isSyncFrame: $0.1) }
    #expect(forwarded == [false, false, false, true, true])
    #expect(run.isForwarding && run.duration == .seconds(7))
  }

  @Test func `a connected camera that cannot be opened is reported once, after a delay`() {
    var recovery = CameraRecovery()
    _ = recovery.handleLoss(after: Self.run(.seconds(1)), isUnplugged: false)
    var reported: [Int64] = []
    for time: Int64 in [0, 1000, 2999] where recovery.handleRefusal(at: .zero + .milliseconds(time)) {
      reported.append(time)
    }
    // Disconnected meanwhile.
    recovery.handleAbsence()
    for time: Int64 in [3500, 6499, 6500, 9000, 20_000]
    where recovery.handleRefusal(at: .zero + .milliseconds(time)) {
      reported.append(time)
    }
    _ = recovery.handleLoss(after: Self.run(.seconds(60)), isUnplugged: false)
    for time: Int64 in [30_000, 33_000] where recovery.handleRefusal(at: .zero + .milliseconds(time)) {
      reported.append(time)
    }
    #expect(reported == [6500, 33_000])
  }

  @Test func `a camera that is unplugged soon again is searched for and shown without delay`() {
    var recovery = CameraRecovery()
    for _ in 0..<3 {
      let isReported = recovery.handleLoss(after: Self.run(.seconds(1)), isUnplugged: true)
      #expect(isReported)
      #expect(recovery.interval == CameraRecovery.searchInterval && recovery.trial == .zero)
    }
    // Lost before its first frame: the loss before that was reported.
    let isReported = recovery.handleLoss(after: CameraOutput.Run(), isUnplugged: true)
    #expect(!isReported)
  }

  @Test func `unplugging a failing camera ends its back-off`() {
    var recovery = CameraRecovery()
    for _ in 0..<4 { _ = recovery.handleLoss(after: Self.run(.seconds(1)), isUnplugged: false) }
    #expect(recovery.interval == .milliseconds(3200) && recovery.trial == CameraRecovery.stableDuration)
    _ = recovery.handleLoss(after: Self.run(.seconds(1)), isUnplugged: true)
    #expect(recovery.interval == CameraRecovery.searchInterval && recovery.trial == .zero)
    // A failure after that is the first one.
    let isReported = recovery.handleLoss(after: Self.run(.seconds(1)), isUnplugged: false)
    #expect(isReported)
    #expect(recovery.interval == CameraRecovery.searchInterval && recovery.trial == .zero)
  }
}
