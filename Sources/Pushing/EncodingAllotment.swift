/// Grants a bounded number of encodings to the pushes of a server, in the order of their requests.
///
/// Each encoding costs as much as the stream's. A push that waits for a grant sends the shared encoding and drops frames.
package struct EncodingAllotment<ID: Hashable & Sendable>: Hashable, Sendable {
  /// Maximum number of grants at a time.
  package let maximumCount: Int
  /// Pushes with a grant, in the order of the grants.
  package private(set) var granted: [ID] = []
  private var waiting: [ID] = []

  /// An allotment without a grant; two encodings at a time by default.
  package init(maximumCount: Int = 2) {
    self.maximumCount = max(0, maximumCount)
  }

  /// Grants an encoding to a push, or appends the push to the waiting ones.
  ///
  /// - Returns: Whether the push has a grant now.
  package mutating func request(_ id: ID) -> Bool {
    if self.granted.contains(id) { return true }
    if self.granted.count < self.maximumCount {
      self.granted.append(id)
      return true
    }
    if !self.waiting.contains(id) { self.waiting.append(id) }
    return false
  }

  /// Ends the request or the grant of a push, and grants its encoding to the first waiting push.
  ///
  /// - Returns: The push with the new grant; nil when no push waits, or no grant ended.
  package mutating func release(_ id: ID) -> ID? {
    self.waiting.removeAll { $0 == id }
    guard let index = self.granted.firstIndex(of: id) else { return nil }
    self.granted.remove(at: index)
    guard !self.waiting.isEmpty else { return nil }
    let next = self.waiting.removeFirst()
    self.granted.append(next)
    return next
  }
}
