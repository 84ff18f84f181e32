import Foundation
import Media
import Synchronization
import Testing

@testable import CaptureDevices
@testable import Threading

@Suite("Asking devices of which some never answer", .timeLimit(.minutes(2)))
struct DeviceSurveyTests {
  /// Devices that answer with their names, and some not before they are let.
  private final class Devices: Sendable {
    let stuck: Monitor<Set<String>>
    let asked = Mutex<[String]>([])
    let threads = Mutex<[pthread_t]>([])

    init(stuck: Set<String>) {
      self.stuck = Monitor(stuck)
    }

    func answer(_ name: String) -> String {
      self.asked.withLock { $0.append(name) }
      self.threads.withLock { $0.append(pthread_self()) }
      _ = self.stuck.wait { $0.contains(name) ? nil : true }
      return name.uppercased()
    }

    func takeAsked() -> [String] {
      self.asked.withLock { asked in
        defer { asked = [] }
        return asked
      }
    }
  }

  private let names = ["a", "b", "c", "d", "e"]

  @Test func `those that answer are asked in turn, by one thread`() {
    let (survey, devices) = (DeviceSurvey<String>(named: "test", within: .seconds(60)), Devices(stuck: []))
    #expect(survey.answers(of: self.names, devices.answer) == ["A", "B", "C", "D", "E"])
    #expect(devices.takeAsked() == self.names)
    let threads = devices.threads.withLock { $0 }
    #expect(threads.count == 5 && threads.allSatisfy { pthread_equal($0, threads[0]) != 0 })
    #expect(threads.allSatisfy { pthread_equal($0, pthread_self()) == 0 })
    #expect(survey.answers(of: [], devices.answer) == [])
  }

  @Test func `one that does not answer hides no other, and is not asked again before it has`() {
    let survey = DeviceSurvey<String>(named: "test", within: .milliseconds(300))
    let devices = Devices(stuck: ["a", "c", "e"])
    #expect(survey.answers(of: self.names, devices.answer) == [nil, "B", nil, "D", nil])
    #expect(devices.takeAsked() == self.names)
    for _ in 0..<20 {
      #expect(survey.answers(of: self.names, devices.answer) == [nil, "B", nil, "D", nil])
      #expect(devices.takeAsked() == ["b", "d"])
    }
    devices.stuck.withLock { $0 = ["e"] }
    // The threads that hung there have to see it first.
    let deadline = StreamClock.system.now() + .seconds(60)
    var answers: [String?] = []
    repeat {
      answers = survey.answers(of: self.names, devices.answer)
    } while answers != ["A", "B", "C", "D", nil] && StreamClock.system.now() < deadline
    #expect(answers == ["A", "B", "C", "D", nil])
    #expect(!devices.takeAsked().contains("e"))
    devices.stuck.withLock { $0 = [] }
  }
}
