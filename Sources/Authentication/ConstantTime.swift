/// Comparison of secrets, integrity codes and fingerprints.
package enum ConstantTime {
  /// Whether both are equal, in a time that depends on their lengths only.
  package static func isEqual(_ lhs: some Collection<UInt8>, _ rhs: some Collection<UInt8>) -> Bool {
    lhs.count == rhs.count && zip(lhs, rhs).reduce(into: UInt8(0)) { $0 |= $1.0 ^ $1.1 } == 0
  }
}
