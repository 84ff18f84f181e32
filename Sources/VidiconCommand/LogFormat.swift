import ArgumentParser
import Media

/// The form of the lines of standard error: the option `--log`.
enum LogFormat: String, CaseIterable, ExpressibleByArgument, Sendable {
  /// Prose: `vidicon: door: the video source has ended; viewers stay connected`.
  case text
  /// Keys and values (logfmt): `time=… level=warning event=source_ended stream=door kind=video message="the video source has ended…"`.
  case keys

  /// The help of the option.
  static let help = ArgumentHelp(
    "Lines on standard error: text, or keys and values for programs (logfmt). (default: keys for the journal, else text)",
    valueName: "format")

  /// Maximum number of characters of a value; `…` stands for the rest.
  static let maximumValueLength = 1000

  /// The form that arguments ask for, also where they are wrong otherwise; nil without one.
  static func requested(by arguments: [String]) -> LogFormat? {
    var value: String?
    for (argument, next) in zip(arguments, arguments.dropFirst() + [""]) {
      if argument == "--log" {
        value = next
      } else if argument.hasPrefix("--log=") {
        value = String(argument.dropFirst("--log=".count))
      }
    }
    return value.flatMap { LogFormat(rawValue: $0) }
  }

  /// The form that was given; else keys for the journal, and prose for everything else.
  init(given: LogFormat?, isJournal: Bool) {
    self = given ?? (isJournal ? .keys : .text)
  }

  /// The line of an event, without its end.
  ///
  /// - Parameters:
  ///   - isJournal: Whether the journal reads it, which knows the program and the time, and reads a mark for the priority.
  ///   - time: The time of day.
  /// - Returns: nil for an event that people see elsewhere.
  func line(_ event: LogEvent, isJournal: Bool, at time: @autoclosure () -> CalendarTime) -> String? {
    let mark = isJournal ? event.priority.mark : ""
    switch self {
    case .text:
      guard let message = event.message else { return nil }
      let stream = event.namesStream ? event.stream : nil
      let text = Terminal.oneLine((stream.map { "\($0): " } ?? "") + message)
      let number = event.foldedCount > 0 ? " (\(event.foldedCount) more like this)" : ""
      return (isJournal ? mark : "vidicon: ") + text + number
    case .keys:
      var fields: [LogEvent.Field] = []
      func add(_ key: String, _ value: String?) {
        if let value { fields.append(LogEvent.Field(key: key, value: value)) }
      }
      if !isJournal {
        add("time", time().rfc3339)
        add("level", event.priority.name)
      }
      add("event", event.name.rawValue)
      add("stream", event.stream)
      fields += event.fields
      add("address", event.address)
      fields += event.measures
      add("message", event.message)
      add("more", event.foldedCount > 0 ? "\(event.foldedCount)" : nil)
      return mark + fields.map { "\($0.key)=\(Self.value($0.value))" }.joined(separator: " ")
    }
  }

  /// A value of logfmt: as it is, or in quotes with the escapes of JSON where it is empty, has a space, a quotation mark, a backslash or an
  /// equals sign, or a character that ends a line or changes how a terminal shows others. Texts of clients are values.
  static func value(_ text: String) -> String {
    var needsQuotes = text.isEmpty
    var value = ""
    var count = 0
    for scalar in text.unicodeScalars {
      guard count < Self.maximumValueLength else {
        value += "…"
        break
      }
      count += 1
      switch scalar {
      case "\"", "\\": value += "\\\(scalar)"
      case "\n": value += "\\n"
      case "\r": value += "\\r"
      case "\t": value += "\\t"
      case "=", " ": value.unicodeScalars.append(scalar)
      default:
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator:
          for unit in String(scalar).utf16 { value += "\\u\(Self.hexadecimal(unit))" }
        default:
          value.unicodeScalars.append(scalar)
          continue
        }
      }
      needsQuotes = true
    }
    return needsQuotes ? "\"\(value)\"" : value
  }

  /// Four digits.
  private static func hexadecimal(_ unit: UInt16) -> String {
    let digits = String(unit, radix: 16)
    return String(repeating: "0", count: 4 - digits.utf8.count) + digits
  }
}
