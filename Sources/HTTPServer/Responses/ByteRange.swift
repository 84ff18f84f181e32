internal import Authentication

/// The byte range selected by a `Range` field, RFC 9110 §14.1.2.
package enum ByteRange: Hashable, Sendable {
  /// The whole content: no range, or one that may be ignored (several ranges, another unit, malformed).
  case whole
  /// The bytes at these offsets.
  case part(Range<Int>)
  /// No byte of the content: 416.
  case unsatisfiable

  /// Parses the value of `Range`.
  ///
  /// - Parameter length: Length of the content in bytes.
  package init(parsing value: String?, length: Int) {
    self = .whole
    guard let value, value.utf8.count <= 64, value.prefix(6).lowercased() == "bytes=" else { return }
    let ends = value.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2 else { return }
    let (first, last) = (ends[0].trimmingSpace(), ends[1].trimmingSpace())
    if first.isEmpty {
      guard let count = last.decimal(as: Int.self) else { return }
      self = count == 0 || length == 0 ? .unsatisfiable : .part(max(0, length - count)..<length)
    } else {
      guard let start = first.decimal(as: Int.self) else { return }
      var end = length
      if !last.isEmpty {
        guard let last = last.decimal(as: Int.self), last >= start else { return }
        end = last < length ? last + 1 : length
      }
      self = start < length ? .part(start..<end) : .unsatisfiable
    }
  }
}
