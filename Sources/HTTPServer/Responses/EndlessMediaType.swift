/// Media types of responses that have no end of their own, by which connections are given up for others.
package enum EndlessMediaType {
  /// Server-sent events, HTML §9.2.5.
  package static let events = "text/event-stream"
  /// Parts of which each replaces the one before, such as motion JPEG.
  package static let replacedParts = "multipart/x-mixed-replace"
}
