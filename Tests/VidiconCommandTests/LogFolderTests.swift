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
