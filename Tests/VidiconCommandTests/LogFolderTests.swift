import Foundation
import Media
import Testing

@testable import VidiconCommand

@Suite("Folded events of the log")
struct LogFolderTests {
  private static func line(_ text: String, _ priority: LogPriority = .warning, more: Int = 0) -> LogEvent {
    var event = LogEvent(.message, priority, message: text)
    event.foldedCount = more
    return event
  }

  private static func text(_ event: LogEvent) -> String? {
    LogFormat.text.line(event, isJournal: true, at: CalendarTime(unixTime: .zero)).map { String($0.dropFirst(3)) }
  }

  private static func time(_ seconds: Int64) -> MediaTime { .zero + .seconds(seconds) }

  @Test func `three equal lines of a minute are shown, the others are counted`() {
    var folder = LogFolder()
    let line = Self.line("the source is gone")
    var shown: [LogEvent] = []
    // One each 100 ms.
    for index in 0..<315 { shown += folder.add(line, at: .zero + .milliseconds(Int64(index) * 100)) }
    #expect(shown == [line, line, line])
    #expect(folder.due(at: .zero + .milliseconds(59_999)) == [])
    #expect(folder.due(at: Self.time(60)) == [Self.line("the source is gone", more: 312)])
    #expect(folder.due(at: Self.time(61)) == [] && folder.flush() == [])
  }

  @Test func `a line for ever is three lines and a number each minute`() {
    var folder = LogFolder()
    var shown: [String] = []
    for second in 0..<180 { shown += folder.add(Self.line("a"), at: Self.time(Int64(second))).compactMap(Self.text) }
    #expect(shown == ["a", "a", "a", "a (57 more like this)", "a", "a", "a", "a (57 more like this)", "a", "a", "a"])
    #expect(folder.flush() == [Self.line("a", more: 57)])
    #expect(folder.flush() == [])
  }

  @Test func `different lines, and equal ones of another priority, are lines of their own`() {
    var folder = LogFolder()
    let lines = [Self.line("door: 1"), Self.line("door: 2"), Self.line("door: 1", .notice)]
    for _ in 1...3 { for line in lines { #expect(folder.add(line, at: .zero) == [line]) } }
    for line in lines { #expect(folder.add(line, at: .zero) == []) }
    #expect(folder.flush().map(\.priority) == [.warning, .warning, .notice])
  }

  @Test func `events are equal where only their measures differ, and the number of the others has none`() {
    func ended(_ address: String, after seconds: Int) -> LogEvent {
      LogEvent(
        .message, .notice, stream: "door", fields: ["address": address], measures: ["duration": "\(seconds)"])
    }
    var folder = LogFolder()
    for seconds in 1...3 {
      let event = ended("192.0.2.1", after: seconds)
      #expect(folder.add(event, at: .zero) == [event])
    }
    let other = ended("192.0.2.2", after: 4)
    #expect(folder.add(other, at: .zero) == [other])
    for seconds in 5...9 { #expect(folder.add(ended("192.0.2.1", after: seconds), at: .zero) == []) }
    var number = ended("192.0.2.1", after: 1)
    (number.measures, number.foldedCount) = ([], 5)
    #expect(folder.flush() == [number])
  }

  private static func joined(_ address: String, stream: String = "door") -> LogEvent {
    LogEvent(.viewerJoined, .notice, stream: stream, address: address)
  }

  @Test func `viewers that connect again and again have a line a second, and numbers, each minute`() {
    var folder = LogFolder()
    var shown: [LogEvent] = []
    // 70 hosts, each once a second, in turn.
    for second in 0..<60 {
      for host in 1...70 {
        shown += folder.add(Self.joined("192.0.2.\(host)"), at: Self.time(Int64(second)))
      }
    }
    let (single, atOnce) = (shown.filter { $0.foldedCount == 0 }, LogFolder.maximumClientCount)
    #expect(shown.count == single.count && (atOnce..<2 * atOnce).contains(single.count))
    // All of them are counted once: each host that had a line, and the others together.
    let numbers = folder.due(at: Self.time(120))
    #expect(numbers.count == atOnce + 1)
    #expect(single.count + numbers.map(\.foldedCount).reduce(0, +) == 60 * 70)
    #expect(numbers.last?.name == .clientEvents && numbers.dropLast().allSatisfy { $0.name == .viewerJoined })
    #expect(folder.flush() == [])
  }

  @Test func `however many events clients cause, other lines are folded as ever`() {
    var folder = LogFolder()
    let line = Self.line("the source is gone")
    var shown: [LogEvent] = []
    for host in 0..<1000 {
      _ = folder.add(Self.joined("192.0.\(host / 250).\(host % 250)"), at: .zero)
      shown += folder.add(line, at: .zero)
    }
    #expect(shown == [line, line, line])
    let numbers = folder.flush()
    #expect(numbers.first == Self.line("the source is gone", more: 997))
    #expect(numbers.count == 2 && numbers.last?.foldedCount == 1000 - LogFolder.maximumClientCount)
  }

  @Test func `hosts of a network of IPv6 are one client, whose number has the network`() {
    var folder = LogFolder()
    let shown = (1...9).flatMap { folder.add(Self.joined("2001:db8::\($0)"), at: .zero) }
    #expect(shown.map(\.address) == ["2001:db8::1", "2001:db8::2", "2001:db8::3"])
    let other = Self.joined("2001:db8:0:1::1")
    #expect(folder.add(other, at: .zero) == [other])
    let numbers = folder.flush()
    #expect(numbers.map(\.address) == ["2001:db8::/64"] && numbers.map(\.foldedCount) == [6])
  }

  @Test func `a state is shown each time, so that the last line has the newest`() {
    var folder = LogFolder()
    for count in [0, 1, 0, 1, 0, 1, 0, 1, 0] {
      let event = LogEvent(.viewers, .notice, stream: "door", fields: ["viewers": "\(count)"])
      #expect(folder.add(event, at: .zero) == [event])
    }
    #expect(folder.flush() == [])
  }

  @Test func `a line that comes seldom is always shown`() {
    var folder = LogFolder()
    for minute in 0..<10 {
      #expect(folder.add(Self.line("a"), at: Self.time(Int64(minute) * 60)) == [Self.line("a")])
    }
    #expect(folder.flush() == [])
  }

  @Test func `of many different lines the oldest is shown with its number when another one comes`() {
    var folder = LogFolder()
    for _ in 1...5 { _ = folder.add(Self.line("0"), at: .zero) }
    for index in 1..<LogFolder.maximumLineCount { #expect(folder.add(Self.line("\(index)"), at: .zero).count == 1) }
    #expect(folder.add(Self.line("x"), at: .zero) == [Self.line("0", more: 2), Self.line("x")])
    #expect(folder.add(Self.line("y"), at: .zero) == [Self.line("y")])
    #expect(folder.flush() == [])
  }

  @Test func `the journal is known by the file of its stream`() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "journal-\(UUID().uuidString)").path
    try Data().write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let file = try FileHandle(forReadingFrom: URL(filePath: path))
    defer { try? file.close() }  // It was only read.
    let descriptor = file.fileDescriptor
    var status = stat()
    try #require(fstat(descriptor, &status) == 0)
    let (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
    #expect(LogPriority.isJournal("\(device):\(inode)", descriptor: descriptor))
    for stream in [
      nil, "", ":", "\(device)", "\(device):\(inode + 1)", "\(device + 1):\(inode)", "\(device):\(inode):0", "a:b",
    ] {
      #expect(!LogPriority.isJournal(stream, descriptor: descriptor), "\(stream ?? "none")")
    }
    #expect(!LogPriority.isJournal("\(device):\(inode)", descriptor: -1))
    #expect([LogPriority.error, .warning, .notice].map(\.mark) == ["<3>", "<4>", "<5>"])
    #expect([LogPriority.error, .warning, .notice].map(\.name) == ["error", "warning", "notice"])
  }
}
