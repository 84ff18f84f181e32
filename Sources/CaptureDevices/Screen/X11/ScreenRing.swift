#if os(Linux)
internal import CXCB
internal import Capture
internal import Libc
internal import Media

/// The frame buffers of a screen capture. Each records which rows of the screen have changed since it was last updated, and
/// only those are fetched.
final class ScreenRing {
  /// One frame buffer.
  struct Slot {
    /// Pixel memory of the frames; free when uniquely referenced.
    var buffer: PixelBuffer
    /// Memory that the server writes to; nil when frames are converted from ``raw``.
    let memory: ScreenMemory?
    /// Rows that differ from the screen.
    var stale: RowRanges
  }

  /// Maximum number of slots: one frame displayed, one in the input queue, one being encoded, one being captured, one spare.
  private static let capacity = 5

  /// Format of the frames.
  let format: VideoFormat
  /// Position of the pixels in the server; the drawable may change.
  var area: ScreenTarget.Area
  private let connection: X11Connection
  private var slots: [Slot] = []
  /// Pixels in the server's format, where these have to be converted.
  private var raw: (memory: ScreenMemory, stale: RowRanges)?
  /// Maximum size of a reply in bytes; larger images are fetched in parts where the server cannot write to shared
  /// memory.
  private static let replyLimit = 4 << 20

  /// Creates a ring without slots.
  init(_ area: ScreenTarget.Area, format: VideoFormat, connection: X11Connection) {
    self.area = area
    self.format = format
    self.connection = connection
  }

  deinit {
    for memory in self.slots.map(\.memory) + [self.raw?.memory] {
      if let segment = memory?.segment { xcb_shm_detach(self.connection.pointer, segment) }
    }
  }

  /// Marks rows as changed in all slots.
  func markStale(_ rows: RowRanges) {
    for index in self.slots.indices { self.slots[index].stale.formUnion(rows) }
    self.raw?.stale.formUnion(rows)
  }

  /// The unreferenced slot with the fewest rows to fetch; nil when all are in use.
  func freeSlot() throws(X11Failure) -> Int? {
    var best: Int?
    for index in self.slots.indices where isKnownUniquelyReferenced(&self.slots[index].buffer) {
      if let other = best, self.slots[other].stale.count <= self.slots[index].stale.count { continue }
      best = index
    }
    if let best { return best }
    guard self.slots.count < Self.capacity, let slot = try self.makeSlot() else { return nil }
    self.slots.append(slot)
    return self.slots.endIndex - 1
  }

  /// Captures the current content of the screen, with the pointer drawn over it.
  func capture(in index: Int, cursor: ScreenCursor?, at position: (x: Int, y: Int)) throws(X11Failure) -> PixelBuffer {
    let buffer = self.slots[index].buffer
    if let memory = self.slots[index].memory {
      try self.fetch(self.slots[index].stale, into: memory)
    } else if let raw = self.raw {
      try self.fetch(raw.stale, into: raw.memory)
      self.raw?.stale = RowRanges()
      for rows in self.slots[index].stale.ranges { self.area.pixels.convert(rows, of: raw.memory.start, to: buffer) }
    }
    self.slots[index].stale = RowRanges()
    if let cursor, let covered = cursor.area(at: position, in: self.format) {
      cursor.draw(at: position, into: buffer)
      self.slots[index].stale.insert(covered.y..<(covered.y + covered.height))
    }
    return buffer
  }

  private func makeSlot() throws(X11Failure) -> Slot? {
    let rows = RowRanges(0..<self.format.height)
    if self.area.pixels == .bgra {
      guard let memory = try ScreenMemory(size: self.format.byteCount(plane: 0), sharedWith: self.connection) else {
        return nil
      }
      let buffer = PixelBuffer(borrowing: [memory.start], format: self.format) { withExtendedLifetime(memory) {} }
      return Slot(buffer: buffer, memory: memory, stale: rows)
    }
    if self.raw == nil {
      let size = self.area.pixels.bytesPerRow(width: self.format.width) * self.format.height
      guard let memory = try ScreenMemory(size: size, sharedWith: self.connection) else { return nil }
      self.raw = (memory, rows)
    }
    return Slot(buffer: PixelBuffer(format: self.format), memory: nil, stale: rows)
  }

  /// Fetches rows from the server to their positions in memory.
  private func fetch(_ rows: RowRanges, into memory: ScreenMemory) throws(X11Failure) {
    if let segment = memory.segment {
      let pending = rows.ranges.map { self.requestShared($0, segment) }
      var failure: X11Failure?
      for sequence in pending {
        // Each reply is fetched, also after one was an error.
        do throws(X11Failure) {
          _ = try self.connection.reply(sequence, xcb_shm_get_image_reply_t.self)
        } catch {
          guard case .refused = error else { throw error }
          failure = error
        }
      }
      if let failure { throw failure }
      return
    }
    let bytesPerRow = self.area.pixels.bytesPerRow(width: self.format.width)
    let maximumRows = max(1, Self.replyLimit / bytesPerRow)
    for range in rows.ranges {
      for first in stride(from: range.lowerBound, to: range.upperBound, by: maximumRows) {
        let part = first..<min(first + maximumRows, range.upperBound)
        let reply = try self.connection.reply(self.request(part), xcb_get_image_reply_t.self)
        let size = min(Int(xcb_get_image_data_length(reply.pointer)), part.count * bytesPerRow)
        if let data = xcb_get_image_data(reply.pointer) { memcpy(memory.start + first * bytesPerRow, data, size) }
      }
    }
  }

  private func requestShared(_ rows: Range<Int>, _ segment: UInt32) -> UInt32 {
    xcb_shm_get_image(
      self.connection.pointer, self.area.drawable, Int16(clamping: self.area.x),
      Int16(clamping: self.area.y + rows.lowerBound), UInt16(clamping: self.format.width),
      UInt16(clamping: rows.count), .max, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), segment,
      UInt32(clamping: rows.lowerBound * self.area.pixels.bytesPerRow(width: self.format.width))
    ).sequence
  }

  private func request(_ rows: Range<Int>) -> UInt32 {
    xcb_get_image(
      self.connection.pointer, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), self.area.drawable,
      Int16(clamping: self.area.x), Int16(clamping: self.area.y + rows.lowerBound), UInt16(clamping: self.format.width),
      UInt16(clamping: rows.count), .max
    ).sequence
  }
}
#endif
