/// Decides which pushes of a stream get an encoding of their own: a bounded number, in the order of their requests.
///
/// Each encoding costs as much as the stream's. A push that gets none drops frames, and is offered the next that is free.
public struct EncodingAllotment<ID: Hashable & Sendable>: Hashable, Sendable {
  /// Maximum number of encodings at a time.
  public let maximumCount: Int
  /// Pushes with an encoding.
  public private(set) var granted: [ID] = []
  private var waiting: [ID] = []

  /// An allotment without a grant; two encodings at a time by default.
  public init(maximumCount: Int = 2) {
    self.maximumCount = max(0, maximumCount)
  }

  /// Handles a request.
  ///
  /// - Returns: Whether the push gets an encoding now; otherwise it waits.
  public mutating func request(_ id: ID) -> Bool {
    if self.granted.contains(id) { return true }
    if self.granted.count < self.maximumCount {
      self.granted.append(id)
      return true
    }
    if !self.waiting.contains(id) { self.waiting.append(id) }
    return false
  }

  /// Handles the end of a request or an encoding.
  ///
  /// - Returns: The push that gets the free encoding; nil when none waits, or none became free.
  public mutating func release(_ id: ID) -> ID? {
    self.waiting.removeAll { $0 == id }
    guard let index = self.granted.firstIndex(of: id) else { return nil }
    self.granted.remove(at: index)
    guard !self.waiting.isEmpty else { return nil }
    let next = self.waiting.removeFirst()
    self.granted.append(next)
    return next
  }
}
