import Foundation
import Media
import Vidicon

extension ServeConfiguration {
  /// Parses STUN and TURN servers; `@FILE` stands for those of a file, one on each line, which keeps passwords out of the list of
  /// processes.
  static func iceServers(_ texts: [String], named name: String) throws(VidiconError) -> [ICEServer] {
    var servers: [ICEServer] = []
    for text in texts {
      guard text.first == "@" else {
        servers.append(try ICEServer(text))
        continue
      }
      let content = try SettingsText.read(String(text.dropFirst()), option: "\(name) @FILE")
      for line in content.split(whereSeparator: \.isNewline) where !line.isEmpty && line.first != "#" {
        servers.append(try ICEServer(String(line)))
      }
    }
    guard servers.count <= Self.maximumICEServerCount else {
      throw .usage(
        name, "there are \(servers.count) of them", "give at most \(Self.maximumICEServerCount)")
    }
    return servers
  }

  /// Maximum number of STUN and TURN servers; each one delays the connections of browsers.
  private static let maximumICEServerCount = 8
}
