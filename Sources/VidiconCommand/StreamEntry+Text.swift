import ControlAPI
import Foundation

extension StreamEntry {
  /// Lines for users.
  ///
  /// - Parameter token: An operator's token, for the address that a browser controls with; nil without one.
  func lines(token: String?) -> [String] {
    var parts = [self.name]
    if let video {
      parts.append("\(video.width)×\(video.height)")
      parts.append(String(format: "%.4g fps", video.frameRate))
      parts.append(String(format: "%.2f Mb/s", Double(video.bitrate) / 1e6))
    }
    let count = self.viewers.values.reduce(0, +)
    parts.append(count == 1 ? "1 viewer" : "\(count) viewers")
    if self.slate { parts.append("no signal") }
    if self.mirror == true { parts.append("mirrored") }
    if let rotation, rotation != 0 { parts.append("rotated by \(rotation)°") }
    if self.mute == true { parts.append("muted") }
    if self.pause == true { parts.append("paused") }
    var lines = [parts.joined(separator: "   ")]
    if let video = self.source?.video { lines.append("  Source     \(video)") }
    if let audio = self.source?.audio { lines.append("  Audio      \(audio)") }
    if self.source?.insecure == true { lines.append("  Source     its certificate is not verified (insecure=1)") }
    for rendition in self.renditions ?? [] { lines.append("  Rendition  \(rendition.line)") }
    if let page = self.http.first { lines.append("  Browser    \(page)") }
    if let token, let page = self.http.first { lines.append("  Control    \(page)#control=\(token)") }
    return lines
  }
}

extension RenditionEntry {
  /// A line for users.
  var line: String {
    var parts = [
      self.name, "\(self.width)×\(self.height)", String(format: "%.4g fps", self.frameRate),
      String(format: "%.2f Mb/s", Double(self.bitrate) / 1e6),
    ]
    let count = self.viewers.values.reduce(0, +)
    if self.failed { return (parts + ["failed"]).joined(separator: "   ") }
    parts.append(!self.encoding ? "unused" : count == 1 ? "1 viewer" : "\(count) viewers")
    if self.encoding, let time = self.encodeMilliseconds { parts.append(String(format: "%.1f ms per frame", time)) }
    return parts.joined(separator: "   ")
  }
}
