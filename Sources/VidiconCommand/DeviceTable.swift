import Capture
import CaptureDevices
import Foundation
import Media

/// A table of devices for users: the text for `--source` or `--audio` on the left, the device's description on the right,
/// wrapped to the width of a terminal.
struct DeviceTable {
  /// The lines, without line breaks.
  let lines: [String]

  /// The table; without devices, one line with a hint.
  ///
  /// - Parameter width: Maximum characters of a line; a single long word may exceed it.
  init(_ devices: [CaptureDevice], width: Int = 80) {
    let groups: [(title: String, kinds: Set<CaptureDevice.Kind>)] = [
      ("Cameras, for --source", [.camera]), ("Screens, for --source", [.screen, .window]),
      ("Microphones, for --audio", [.microphone]),
    ]
    let column = min(max(devices.map { Self.width($0.specification) }.max() ?? 0, 12) + 2, width / 3)
    var lines: [String] = []
    for group in groups {
      let members = devices.filter { group.kinds.contains($0.kind) }
      guard !members.isEmpty else { continue }
      if !lines.isEmpty { lines.append("") }
      lines.append(group.title)
      for device in members { lines += Self.lines(of: device, column: column, width: width) }
    }
    self.lines =
      lines.isEmpty
      ? ["there are no cameras, screens and microphones; serve generated video with: vidicon serve --source bars"]
      : lines
  }

  private static func lines(of device: CaptureDevice, column: Int, width: Int) -> [String] {
    var texts = [[device.name + (self.position(of: device).map { " (\($0))" } ?? "")]]
    if let problem = device.problem { texts.append(["cannot be used: " + problem]) }
    if ![device.name, device.specification].contains(device.stableName) {
      texts.append([device.stableName])
    }
    texts += self.formats(of: device)
    let controls = device.controls.filter { $0.kind != .button }.map(self.text)
    if !controls.isEmpty { texts.append(["controls"] + self.commas(controls)) }

    let indent = String(repeating: " ", count: column + 2)
    var lines: [String] = []
    for (index, words) in texts.enumerated() {
      // Continuation lines are indented.
      lines += self.wrapped(words, width: width - column - 2, hanging: index == 0 ? "" : "  ")
    }
    lines = lines.map { indent + $0 }
    let start = "  " + self.printable(device.specification)
    if self.width(start) <= column {  // Beside the name.
      lines[0] = start + lines[0].dropFirst(self.width(start))
    } else {
      lines.insert(start, at: 0)
    }
    return lines
  }

  private static func position(of device: CaptureDevice) -> String? {
    switch device.position {
    case .front, .back, .external: device.position.rawValue
    case .unspecified: nil
    }
  }

  /// One line per pixel format with all of its sizes, or per sample format.
  private static func formats(of device: CaptureDevice) -> [[String]] {
    var names: [String] = []
    var texts: [String: [String]] = [:]
    for format in device.formats {
      if texts[format.name] == nil { names.append(format.name) }
      texts[format.name, default: []].append(self.text(format))
    }
    return names.map { name in [name] + self.commas((texts[name] ?? []).filter { !$0.isEmpty }) }
  }

  private static func text(_ format: CaptureDeviceFormat) -> String {
    if let rate = format.sampleRate, let channels = format.channels {
      return "\(rate) Hz \(channels == 1 ? "mono" : channels == 2 ? "stereo" : "\(channels) channels")"
    }
    var parts: [String] = []
    if let width = format.width, let height = format.height { parts.append("\(width)x\(height)") }
    switch format.frameRates {
    case .discrete(let rates):
      if !rates.isEmpty { parts.append("at \(rates.map(\.description).joined(separator: "/")) fps") }
    case .range(let range): parts.append("at \(range.lowerBound) to \(range.upperBound) fps")
    }
    return parts.joined(separator: " ")
  }

  private static func text(_ control: DeviceControl) -> String {
    switch control.kind {
    case .boolean: "\(control.name) \(control.value == 0 ? "off" : "on")"
    case .menu:
      "\(control.name) \(control.value) of "
        + control.menu.map { "\($0.value) (\($0.label))" }.joined(separator: "/")
    case .integer:
      "\(control.name) \(control.value) (\(control.range.lowerBound) to \(control.range.upperBound))"
    case .button: control.name
    }
  }

  /// Appends a comma to each text except the last.
  private static func commas(_ texts: [String]) -> [String] {
    texts.enumerated().map { $0.offset < texts.count - 1 ? $0.element + "," : $0.element }
  }

  /// Wraps words into lines; control characters in a driver's name are replaced.
  private static func wrapped(_ texts: [String], width: Int, hanging: String) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in texts.flatMap({ self.printable($0).split(separator: " ") }) {
      if line.isEmpty {
        line = String(word)
      } else if self.width(line) + 1 + self.width(String(word)) <= width {
        line += " " + word
      } else {
        lines.append(line)
        line = hanging + word
      }
    }
    return lines + [line]
  }

  /// The text with control characters replaced by spaces.
  private static func printable(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
  }

  private static func width(_ text: String) -> Int {
    text.count
  }
}
