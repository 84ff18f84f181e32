import Foundation
import Media
import Synchronization
import Testing

@testable import CaptureDevices
@testable import Threading

@Suite("Device enumerator", .timeLimit(.minutes(5)))
struct DeviceEnumeratorTests {
  /// Devices that respond with their names in upper case; stuck ones only after their release.
  private final class Devices: Sendable {
    let stuck: Monitor<Set<String>>
    let queried = Mutex<[String]>([])
    let threads = Mutex<[pthread_t]>([])

    init(stuck: Set<String>) {
      self.stuck = Monitor(stuck)
    }

    func query(_ name: String) -> String {
      self.queried.withLock { $0.append(name) }
      self.threads.withLock { $0.append(pthread_self()) }
      _ = self.stuck.wait { $0.contains(name) ? nil : true }
      return name.uppercased()
    }

    func takeQueried() -> [String] {
      self.queried.withLock { queried in
        defer { queried = [] }
        return queried
      }
    }
  }

  private let names = ["a", "b", "c", "d", "e"]

  @Test func `responding devices are queried in order by one thread`() {
    let enumerator = DeviceEnumerator<String>(threadName: "test", timeout: .seconds(300))
    let devices = Devices(stuck: [])
    #expect(enumerator.results(for: self.names, devices.query) == ["A", "B", "C", "D", "E"])
    #expect(devices.takeQueried() == self.names)
    let threads = devices.threads.withLock { $0 }
    #expect(threads.count == 5 && threads.allSatisfy { pthread_equal($0, threads[0]) != 0 })
    #expect(threads.allSatisfy { pthread_equal($0, pthread_self()) == 0 })
    #expect(enumerator.results(for: [], devices.query) == [])
  }

  @Test func `a stuck device hides no other, and is queried again only after it has responded`() {
    let enumerator = DeviceEnumerator<String>(threadName: "test", timeout: .seconds(2))
    let devices = Devices(stuck: ["a", "c", "e"])
    #expect(enumerator.results(for: self.names, devices.query) == [nil, "B", nil, "D", nil])
    #expect(devices.takeQueried() == self.names)
    for _ in 0..<20 {
      #expect(enumerator.results(for: self.names, devices.query) == [nil, "B", nil, "D", nil])
      #expect(devices.takeQueried() == ["b", "d"])
    }
    devices.stuck.withLock { $0 = ["e"] }
    // The released threads must record their late results first.
    let deadline = StreamClock.system.now() + .seconds(300)
    var results: [String?] = []
    repeat {
      results = enumerator.results(for: self.names, devices.query)
    } while results != ["A", "B", "C", "D", nil] && StreamClock.system.now() < deadline
    #expect(results == ["A", "B", "C", "D", nil])
    #expect(!devices.takeQueried().contains("e"))
    devices.stuck.withLock { $0 = [] }
  }
}
