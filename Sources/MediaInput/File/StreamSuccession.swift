/// Judges a packet of a file whose stream is another one of its kind than the one that is played. Pure.
///
/// Clips of MPEG-TS and MPEG-PS that were joined have streams that begin and end amid the file, and so have broadcasts at an event. Streams
/// of other languages and programs are beside each other all the time.
enum StreamSuccession {
  /// A stream at the place of the packet in the file.
  struct Stream: Hashable {
    /// Whether the program map lists it.
    var isListed: Bool
    /// Whether several packets of it follow soon: a single one is what a demuxer has held back.
    var goesOn: Bool
    /// Whether another stream has replaced it.
    var hasEnded = false
  }

  /// Consequence for the stream of the packet.
  enum Verdict: Hashable {
    /// The stream continues the track.
    case replaces
    /// The stream is beside the one that is played, and is not read any more.
    case isBeside
    /// The packet alone is dropped: it is the rest of a stream that has ended, which a demuxer returns at the end of the file.
    case isLeftover
  }

  /// Judges the stream of a packet.
  ///
  /// - Parameters:
  ///   - stream: The stream of the packet.
  ///   - current: The stream that is played.
  ///   - hasPrograms: Whether the container has program maps, as MPEG-TS.
  static func verdict(of stream: Stream, besides current: Stream, hasPrograms: Bool) -> Verdict {
    guard hasPrograms else {
      if current.goesOn { return .isBeside }
      return stream.hasEnded && !stream.goesOn ? .isLeftover : .replaces
    }
    guard stream.isListed else { return .isLeftover }
    // The map may not have been read yet in which a clip begins.
    return current.isListed && current.goesOn ? .isBeside : .replaces
  }
}
