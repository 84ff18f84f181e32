/// Immutable memory with the constants of a plan in the layout of the kernels, aligned for the widest registers.
// Safe because nothing is written after the initializer.
final class ConstantStore: @unchecked Sendable {
  let floats: UnsafePointer<Float>
  private let memory: UnsafeMutableRawPointer

  /// Copies constants to aligned memory.
  init(_ values: [Float]) {
    self.memory = .allocate(byteCount: max(1, values.count) * 4, alignment: 4 * ArenaLayout.alignment)
    let floats = self.memory.bindMemory(to: Float.self, capacity: values.count)
    values.withUnsafeBufferPointer { source in
      if let base = source.baseAddress { floats.initialize(from: base, count: source.count) }
    }
    self.floats = UnsafePointer(floats)
  }

  deinit { self.memory.deallocate() }
}
