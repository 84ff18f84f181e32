#if os(Linux)
internal import Glibc

/// A reply or event of the X server, freed with this value.
struct X11Reply<Content>: ~Copyable {
  /// Its fixed part, which the variable ones follow.
  let pointer: UnsafeMutablePointer<Content>

  /// Takes over what libxcb allocated.
  init(_ memory: UnsafeMutableRawPointer) {
    self.pointer = memory.assumingMemoryBound(to: Content.self)
  }

  deinit {
    free(self.pointer)
  }

  /// Its fixed part.
  var content: Content { self.pointer.pointee }
}
#endif
