internal import CInference

/// SIMD instruction set of the kernels, such as AVX2. The last one of ``available`` exists on every machine. Results
/// differ between instruction sets only by the rounding of sums.
public struct InstructionSet: Hashable, Sendable, CustomStringConvertible {
  /// The instruction sets of this processor, fastest first.
  public static let available = (0..<vidicon_kernels_count()).map(InstructionSet.init)

  /// The fastest instruction set of this processor.
  public static var fastest: InstructionSet { Self(index: 0) }

  private let index: Int

  private init(index: Int) {
    self.index = index
  }

  /// Name of the instruction set, such as "AVX2".
  public var description: String { String(cString: self.kernels.name) }

  var kernels: vidicon_kernels {
    guard let kernels = vidicon_kernels_at(self.index) else { preconditionFailure("each index is that of kernels") }
    return kernels.pointee
  }
}
