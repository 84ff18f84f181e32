internal import CCryptography

/// Comparison of secrets, integrity codes and fingerprints.
package enum ConstantTime {
  /// Whether both are equal, in a time that depends on their lengths only.
  package static func isEqual(_ lhs: some Sequence<UInt8>, _ rhs: some Sequence<UInt8>) -> Bool {
    lhs.withContiguousBytes { lhs in
      rhs.withContiguousBytes { rhs in
        lhs.count == rhs.count && vidicon_is_equal(lhs.baseAddress, rhs.baseAddress, lhs.count)
      }
    }
  }
}
