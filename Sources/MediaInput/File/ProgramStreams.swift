internal import CLibav

/// Streams that the program maps of a container list, as far as it was read.
struct ProgramStreams {
  /// A stream of a program.
  private struct Entry: Equatable {
    var program: Int
    var stream: UInt32
  }

  /// Indices of the programs that list a stream, by its index.
  private(set) var programs: [Int: Set<Int>] = [:]
  /// The entries of all programs in their order.
  private var entries: [Entry] = []

  init(_ context: UnsafeMutablePointer<AVFormatContext>) {
    self.update(context)
  }

  /// Adopts changes of the maps; called for each packet.
  mutating func update(_ context: UnsafeMutablePointer<AVFormatContext>) {
    var (count, isSame) = (0, true)
    Self.forEach(context) { entry in
      if count >= self.entries.count || self.entries[count] != entry { isSame = false }
      count += 1
    }
    guard !isSame || count != self.entries.count else { return }
    (self.entries, self.programs) = ([], [:])
    Self.forEach(context) { entry in
      self.entries.append(entry)
      self.programs[Int(entry.stream), default: []].insert(entry.program)
    }
  }

  private static func forEach(_ context: UnsafeMutablePointer<AVFormatContext>, _ body: (Entry) -> Void) {
    for number in 0..<Int(context.pointee.nb_programs) {
      guard let program = context.pointee.programs[number]?.pointee else { continue }
      for entry in 0..<Int(program.nb_stream_indexes) {
        body(Entry(program: number, stream: program.stream_index[entry]))
      }
    }
  }
}
