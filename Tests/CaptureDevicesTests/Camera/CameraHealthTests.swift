import Media
import Testing

@testable import CaptureDevices

@Suite("Camera health")
struct CameraHealthTests {
  /// Damaged frames at intervals of 100 ms between two times in milliseconds.
  ///
  /// - Returns: The times of actions.
  private func failures(
    _ health: inout CameraHealth, from start: Int64, to end: Int64, every interval: Int64 = 100
  ) -> [(Int64, CameraHealth.Action)] {
    stride(from: start, to: end, by: Int(interval))
      .map { ($0, health.handleFailure(at: .zero + .milliseconds($0))) }.filter { $0.1 != .none }
  }

  @Test func `half a second of damaged frames restarts the camera, and two more seconds reopen it`() {
    var health = CameraHealth()
    let actions = self.failures(&health, from: 1000, to: 3700)
    #expect(actions.map(\.0) == [1500, 3600] && actions.map(\.1) == [.restart, .reopen])
  }

  @Test func `a usable frame ends the failures`() {
    var health = CameraHealth()
    for start: Int64 in [0, 1000, 2000] {
      let actions = self.failures(&health, from: start, to: start + 400)
      #expect(actions.isEmpty)
      health.handleUsable()
    }
  }

  @Test func `failures that come back soon after a restart reopen the camera`() {
    var health = CameraHealth()
    let first = self.failures(&health, from: 0, to: 600)
    #expect(first.map(\.1) == [.restart])
    health.handleUsable()
    let again = self.failures(&health, from: 3000, to: 5100)
    #expect(again.map(\.0) == [5000] && again.map(\.1) == [.reopen])
  }

  @Test func `failures long after a restart restart the camera again`() {
    var health = CameraHealth()
    let first = self.failures(&health, from: 0, to: 600)
    #expect(first.map(\.1) == [.restart])
    health.handleUsable()
    let again = self.failures(&health, from: 10_000, to: 10_600)
    #expect(again.map(\.0) == [10_500] && again.map(\.1) == [.restart])
  }

  @Test func `a slow camera is given five frames`() {
    var health = CameraHealth()
    let actions = self.failures(&health, from: 0, to: 6000, every: 1000)
    #expect(actions.map(\.0) == [4000] && actions.map(\.1) == [.restart])
  }
}
