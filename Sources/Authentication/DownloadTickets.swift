internal import Cryptography
package import Media

/// Tickets for downloads: links that a browser follows have no header, and a token in them would stay in histories and logs.
///
/// A ticket is its expiry and a keyed hash of it and of the file's path: valid for one file and a limited time. Nothing is
/// stored.
package struct DownloadTickets: Sendable {
  /// Time for which a ticket is valid: a video that is played requests ranges of its file to its end.
  private static let lifetime = MediaDuration.seconds(4 * 3600)

  private let key: HMACKey

  /// Tickets under a key of this process.
  ///
  /// - Parameter makeRandom: Returns unpredictable numbers.
  package init(makeRandom: () -> UInt64) {
    self.key = HMACKey(
      (0..<4).flatMap { _ in
        let word = makeRandom()
        return (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
      })
  }

  /// A ticket for a file.
  package func ticket(for path: String, now: MediaTime) -> String {
    self.ticket(for: path, expiry: now + Self.lifetime)
  }

  /// Whether a ticket is for this file, and has not expired.
  package func accepts(_ ticket: String, for path: String, now: MediaTime) -> Bool {
    guard ticket.utf8.count == 48, let bits = UInt64(ticket.prefix(16), radix: 16) else { return false }
    let expiry = MediaTime(nanoseconds: Int64(bitPattern: bits))
    return ConstantTime.isEqual(ticket.utf8, self.ticket(for: path, expiry: expiry).utf8) && now < expiry
  }

  /// 16 hexadecimal digits of the expiry, 32 of the hash.
  private func ticket(for path: String, expiry: MediaTime) -> String {
    let bytes = (0..<8).map { UInt8(truncatingIfNeeded: expiry.nanoseconds >> (56 - 8 * $0)) }
    let code = self.key.code(of: bytes + Array(path.utf8), .sha256)
    return Hexadecimal.encode(bytes) + Hexadecimal.encode(code.prefix(16))
  }
}
