internal import CLibav

/// Indices of the streams that the program maps of a container list, as far as it was read.
struct ProgramStreams {
  private(set) var indices: Set<Int> = []
  /// The entries of all programs in their order.
  private var entries: [UInt32] = []

  init(_ context: UnsafeMutablePointer<AVFormatContext>) {
    self.update(context)
  }

  /// Adopts changes of the maps; called for each packet.
  mutating func update(_ context: UnsafeMutablePointer<AVFormatContext>) {
    var (count, isSame) = (0, true)
    Self.forEach(context) { index in
      if count >= self.entries.count || self.entries[count] != index { isSame = false }
      count += 1
    }
    guard !isSame || count != self.entries.count else { return }
    var entries: [UInt32] = []
    Self.forEach(context) { entries.append($0) }
    (self.entries, self.indices) = (entries, Set(entries.map { Int($0) }))
  }

  private static func forEach(_ context: UnsafeMutablePointer<AVFormatContext>, _ body: (UInt32) -> Void) {
    for number in 0..<Int(context.pointee.nb_programs) {
      guard let program = context.pointee.programs[number]?.pointee else { continue }
      for entry in 0..<Int(program.nb_stream_indexes) { body(UInt32(program.stream_index[entry])) }
    }
  }
}
