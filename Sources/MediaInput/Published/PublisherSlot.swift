package import Media

/// Decides which publisher sends a stream. Pure: `now` is an argument.
///
/// A publisher that sent something within ``holdTime`` is not displaced: an encoder that connects again by itself is refused, and tries
/// later. A silent one is displaced at once, since its network was probably lost.
package struct PublisherSlot: Sendable {
  /// A publisher; never equal to an earlier one.
  package typealias ID = UInt64

  /// Time since its last message in which a publisher is not displaced.
  package static let holdTime = MediaDuration.seconds(2)

  private var current: (id: ID, lastActivity: MediaTime)?
  private var lastID: ID = 0

  /// A slot without a publisher.
  package init() {}

  /// Whether there is a publisher.
  package var isTaken: Bool { self.current != nil }

  /// Assigns the slot to a new publisher.
  ///
  /// - Returns: nil when another one sends.
  package mutating func begin(at now: MediaTime) -> ID? {
    if let current, now - current.lastActivity < Self.holdTime { return nil }
    self.lastID += 1
    self.current = (self.lastID, now)
    return self.lastID
  }

  /// Records a message.
  ///
  /// - Returns: Whether the publisher still has the slot.
  package mutating func handleActivity(of id: ID, at now: MediaTime) -> Bool {
    guard self.current?.id == id else { return false }
    self.current?.lastActivity = now
    return true
  }

  /// Frees the slot.
  ///
  /// - Returns: Whether the publisher still had it.
  package mutating func end(_ id: ID) -> Bool {
    guard self.current?.id == id else { return false }
    self.current = nil
    return true
  }
}
