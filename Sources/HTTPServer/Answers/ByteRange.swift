internal import Authentication

/// What `Range` asks for, RFC 9110 §14.1.2.
package enum ByteRange: Hashable, Sendable {
  /// All of it: there is no range, or one that need not be met (several ranges, another unit, something unreadable).
  case whole
  /// These bytes.
  case part(Range<Int>)
  /// Nothing of what there is: 416.
  case unsatisfiable

  /// Reads the header's value.
  ///
  /// - Parameter length: Bytes that there are.
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
