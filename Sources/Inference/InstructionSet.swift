internal import CInference

/// What a processor computes with. Every machine has the last of ``available``; the results of all are the same, but for
/// the rounding of each sum.
public struct InstructionSet: Hashable, Sendable, CustomStringConvertible {
  /// Those that this processor has, fastest first.
  public static let available = (0..<vidicon_kernels_count()).map(InstructionSet.init)

  /// The fastest that this processor has.
  public static var fastest: InstructionSet { Self(index: 0) }

  private let index: Int

  private init(index: Int) {
    self.index = index
  }

  /// Such as "AVX2".
  public var description: String { String(cString: self.kernels.name) }

  var kernels: vidicon_kernels {
    guard let kernels = vidicon_kernels_at(self.index) else { preconditionFailure("each index is that of kernels") }
    return kernels.pointee
  }
}
