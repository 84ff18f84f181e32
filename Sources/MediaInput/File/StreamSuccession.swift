/// Judges a packet of a file whose stream is another one of its kind than the one that is played. Pure.
///
/// Clips of MPEG-TS and MPEG-PS that were joined have streams that begin and end amid the file, and so have broadcasts at an event. Streams
/// of other languages and programs are beside each other all the time. Program maps say which of them there are (``PlayedStream``); where
/// none has listed the one that is played, that has ended of which nothing comes for ``minimumSpan``.
struct StreamSuccession {
  /// Consequence for the stream of the packet.
  enum Verdict: Hashable {
    /// The stream continues the track.
    case replaces
    /// The stream is beside the one that is played, and is not read any more.
    case isBeside
    /// The packet alone is dropped: the rest of a stream that was played, or the start of one that is judged later, as that which the next
    /// map lists.
    case isRest
  }

  /// Verdict on a packet of a container without program maps, by the packets that follow: at the end of the file, and where they say
  /// nothing, the stream is beside the one that is played.
  private(set) var verdict = Verdict.isBeside
  /// Time of the last packet of the stream, in nanoseconds; nil where it has none.
  private var last: Int64?
  /// Time of the stream without a packet of the one that is played, in nanoseconds.
  private var span: Int64 = 0

  /// Time of a stream after which the one that is played has ended, in nanoseconds.
  static let minimumSpan: Int64 = 3_000_000_000
  /// Maximum step between two packets that counts, in nanoseconds: clocks jump.
  private static let maximumStep: Int64 = 1_000_000_000

  /// - Parameter time: Time of the packet, in nanoseconds; nil where it has none.
  init(at time: Int64?) {
    self.last = time
  }

  /// Adds a packet that follows: of the same stream, or of the one that is played.
  ///
  /// - Parameters:
  ///   - isCurrent: Whether it is of the one that is played.
  ///   - time: Its time, in nanoseconds; nil where it has none.
  /// - Returns: Whether the verdict needs the next one.
  mutating func append(isCurrent: Bool, at time: Int64?) -> Bool {
    guard !isCurrent else { return false }
    guard let time else { return true }
    if let last { self.span += min(max(time &- last, 0), Self.maximumStep) }
    self.last = time
    guard self.span >= Self.minimumSpan else { return true }
    self.verdict = .replaces
    return false
  }
}
