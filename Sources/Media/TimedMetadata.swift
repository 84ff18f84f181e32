/// A named text that belongs to one time of a stream.
///
/// HLS carries it as an ID3 tag.
public struct TimedMetadata: Hashable, Sendable {
  /// Presentation time of the frame that it describes, on the streams' clock.
  public var time: MediaTime
  /// Kind of metadata, such as `face`; ID3 descriptions cannot contain U+0000.
  public var name: String
  /// Content, usually JSON; about 60,000 bytes of UTF-8 together with the name fit an ID3 tag.
  public var text: String

  /// Creates metadata for one time; the length of the texts is not checked.
  public init(time: MediaTime, name: String, text: String) {
    self.time = time
    self.name = name
    self.text = text
  }
}
