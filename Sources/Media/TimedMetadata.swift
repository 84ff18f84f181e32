/// Something that is told of a moment of a stream, beside its pictures and sound: a name and a text.
///
/// HLS carries it as an ID3 tag at its time.
public struct TimedMetadata: Hashable, Sendable {
  /// The moment, on the streams' clock: that of the picture which shows it.
  public var time: MediaTime
  /// What it is about, such as `face`.
  public var name: String
  /// What is told; as a rule JSON.
  public var text: String

  /// Something to tell.
  public init(time: MediaTime, name: String, text: String) {
    self.time = time
    self.name = name
    self.text = text
  }
}
