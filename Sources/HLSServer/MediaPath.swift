/// The stream or rendition, and the file of it, that a path names: `/NAME/FILE`, `/NAME/RENDITION/FILE`, and `/FILE` of the first
/// stream.
package struct MediaPath: Hashable, Sendable {
  /// Name of the stream, or `NAME/RENDITION`.
  package var stream: String
  /// Whether ``stream`` is the path of a rendition.
  package var isRendition: Bool
  /// Last segment of the path.
  package var file: String

  /// Resolves decoded path segments; nil for the path of a stream itself, and where no stream or rendition is named.
  ///
  /// A stream's name may contain slashes; the longest matching name wins. A single segment that names no stream is a file of the
  /// first stream, as in RTSP, so that `http://HOST:PORT/index.m3u8` plays.
  ///
  /// - Parameters:
  ///   - names: Names of the served streams in the order in which serving began.
  ///   - renditions: Paths of their renditions, `NAME/RENDITION`, which have files as streams do.
  package init?(_ components: [String], names: [String], renditions: [String]) {
    guard let file = components.last, !names.contains(components.joined(separator: "/")) else { return nil }
    let parent = components.dropLast()
    let name = parent.joined(separator: "/")
    if !parent.isEmpty, names.contains(name) {
      (self.stream, self.isRendition) = (name, false)
    } else if !parent.isEmpty, let path = Self.rendition(parent, names: names, renditions: renditions) {
      (self.stream, self.isRendition) = (path, true)
    } else if parent.isEmpty, let first = names.first {
      (self.stream, self.isRendition) = (first, false)
    } else {
      return nil
    }
    self.file = file
  }

  /// The path of the rendition that segments name; one alone is a rendition of the first stream.
  package static func rendition(
    _ components: ArraySlice<String>, names: [String], renditions: [String]
  ) -> String? {
    let path = components.joined(separator: "/")
    if renditions.contains(path) { return path }
    guard components.count == 1, let first = names.first, renditions.contains("\(first)/\(path)") else { return nil }
    return "\(first)/\(path)"
  }
}
