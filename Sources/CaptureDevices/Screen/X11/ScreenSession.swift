#if os(Linux)
internal import Capture
internal import Threading
internal import CXCB
internal import Media

// Safe because one thread at a time uses it: the one that opens it, then the capture thread.
/// The capture of a screen or window over one connection to the X server.
final class ScreenSession: @unchecked Sendable {
  /// How it ended.
  enum End {
    /// The thread is to end.
    case stopped
    /// There will be no more pictures.
    case closed(VidiconError)
    /// The X server is to be looked for again.
    case lost(VidiconError)
  }

  /// After how long the last picture is handed over again.
  private static let keepAlive = MediaDuration.milliseconds(500)
  /// How often in a row the server may refuse a picture: between the resizing of a window and the event that tells it
  /// that happens.
  private static let refusalLimit = 3

  private let specification: ScreenSpecification
  private let frameRate: FrameRate
  private let connection: X11Connection
  private var target: ScreenTarget
  private var ring: ScreenRing
  /// The server's record of what has changed, and room for a copy of it; nil when it keeps none.
  private var damage: (record: UInt32, parts: UInt32)?
  private var cursor: ScreenCursor?

  /// Whether something on the screen has changed since the last picture.
  private var isDamaged = true
  /// Whether the cursor looks different since it was asked for.
  private var isCursorChanged = true
  /// Whether the target may be another one.
  private var isTargetChanged = false
  /// Whether a picture is to be taken in any case.
  private var isForced = true
  /// Whether there is nothing to capture for now.
  private var isHidden = false
  private var isDestroyed = false
  private var refusals = 0
  /// The part of the last picture that the cursor covers.
  private var cursorArea: ScreenSpecification.Region?
  private var lastFrame: VideoFrame?
  /// The last instant of the frame rate's grid at which the screen was looked at.
  private var lastIndex: Int64

  private let grid: FrameGrid
  private let clock = StreamClock.system

  /// Looks up what is to be captured.
  ///
  /// - Throws: ``VidiconError`` when it is not there, cannot be read or is not shown.
  init(_ specification: ScreenSpecification, frameRate: FrameRate, connection: X11Connection) throws(VidiconError) {
    let source = specification.description
    self.specification = specification
    self.frameRate = frameRate
    self.connection = connection
    do throws(ScreenTarget.Problem) {
      if let window = specification.window {
        try ScreenTarget.redirect(window, connection, source: source)
      }
      // From now on each change is told, so that none is missed between the question and the first picture.
      let mask = XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue | XCB_EVENT_MASK_VISIBILITY_CHANGE.rawValue
      withUnsafePointer(to: mask) {
        _ = xcb_change_window_attributes(
          connection.pointer, specification.window ?? connection.screen.root, XCB_CW_EVENT_MASK.rawValue, $0)
      }
      self.target = try ScreenTarget(specification, frameRate: frameRate, connection: connection)
    } catch {
      switch error {
      case .hidden(let error), .gone(let error): throw error
      case .server(let failure): throw Self.error(failure, source)
      }
    }
    self.ring = ScreenRing(self.target.area, format: self.target.format, connection: connection)
    self.grid = FrameGrid(rate: frameRate, at: self.clock.now())
    self.lastIndex = self.grid.index(at: self.clock.now()) - 1
    if connection.extensions.damageEvent != nil {
      let (record, parts) = (connection.makeIdentifier(), connection.makeIdentifier())
      xcb_damage_create(
        connection.pointer, record, self.target.window, UInt8(XCB_DAMAGE_REPORT_LEVEL_NON_EMPTY.rawValue))
      xcb_xfixes_create_region(connection.pointer, parts, 0, nil)
      self.damage = (record, parts)
    }
    if specification.showsCursor, connection.extensions.fixesEvent != nil {
      xcb_xfixes_select_cursor_input(
        connection.pointer, connection.screen.root, XCB_XFIXES_CURSOR_NOTIFY_MASK_DISPLAY_CURSOR.rawValue)
    }
    connection.deadline = nil
  }

  /// What the pictures look like now.
  var format: VideoFormat {
    self.target.format
  }

  /// Delivers pictures until it is over.
  ///
  /// - Parameter formatChanged: Called before the consumer is told.
  func run(_ consumer: any VideoConsumer, formatChanged: (VideoFormat) -> Void) -> End {
    do throws(ScreenTarget.Problem) {
      while true { try self.step(consumer, formatChanged) }
    } catch {
      switch error {
      case .server(.interrupted): return .stopped
      case .server(let failure): return .lost(Self.error(failure, self.specification.description))
      case .hidden(let error), .gone(let error): return .closed(error)
      }
    }
  }

  private static func error(_ failure: X11Failure, _ source: String) -> VidiconError {
    switch failure {
    case .refused(let code):
      VidiconError(
        .failed, subject: source, cause: "the X server refuses to give its picture (error \(code))",
        nextStep: "choose another screen, window or region")
    case .timedOut:
      VidiconError(
        .failed, subject: source, cause: "the X server does not answer", nextStep: "see whether it hangs")
    case .interrupted, .lost:
      VidiconError(
        .failed, subject: source, cause: "the X server has gone away",
        nextStep: "it is looked for again; see whether its session has ended")
    }
  }
}

// MARK: One round

extension ScreenSession {
  /// Reads events, waits until something is due, and does it.
  private func step(
    _ consumer: any VideoConsumer, _ formatChanged: (VideoFormat) -> Void
  ) throws(ScreenTarget.Problem) {
    try self.asking { () throws(X11Failure) in
      while let event = try self.connection.nextEvent() { self.take(event.pointer) }
    }
    if self.isDestroyed {
      throw .gone(
        VidiconError(
          .notFound, subject: self.specification.description, cause: "the window was closed",
          nextStep: "choose another one; vidicon devices lists those that are open"))
    }
    let due = [self.nextTick, self.nextRepetition].compactMap { $0 }.min()
    let now = self.clock.now()
    guard let due, due <= now else {
      let outcome = try self.asking { () throws(X11Failure) in try self.connection.wait(until: due) }
      if outcome == .stopped { throw .server(.interrupted) }
      return
    }
    if let tick = self.nextTick, tick <= now {
      self.lastIndex = self.grid.index(at: now)
      if self.isTargetChanged { try self.findTarget(consumer, formatChanged) }
      if !self.isHidden { try self.look(consumer) }
    }
    if let repetition = self.nextRepetition, repetition <= now, var frame = self.lastFrame {
      frame.timestamp = now
      self.lastFrame = frame
      consumer.consume(frame)
    }
  }

  /// When the screen is to be looked at; nil when that is of no use before an event.
  private var nextTick: MediaTime? {
    let isDue = self.isTargetChanged || !self.isHidden && (self.isDamaged || self.isForced || self.showsCursor)
    return isDue ? self.grid.time(of: self.lastIndex + 1) : nil
  }

  /// When the last picture is to be handed over again.
  private var nextRepetition: MediaTime? {
    self.isHidden ? nil : self.lastFrame.map { $0.timestamp + Self.keepAlive }
  }

  private var showsCursor: Bool {
    self.specification.showsCursor && self.connection.extensions.fixesEvent != nil
  }

  private func asking<Answer>(
    _ body: () throws(X11Failure) -> Answer
  ) throws(ScreenTarget.Problem) -> Answer {
    do throws(X11Failure) {
      return try body()
    } catch {
      throw .server(error)
    }
  }

  private func take(_ event: UnsafeMutablePointer<xcb_generic_event_t>) {
    let extensions = self.connection.extensions
    let type = event.pointee.response_type & 0x7F
    if type == extensions.damageEvent {
      self.isDamaged = true
    } else if let first = extensions.fixesEvent, type == first + UInt8(XCB_XFIXES_CURSOR_NOTIFY) {
      self.isCursorChanged = true
    } else if type == UInt8(XCB_CONFIGURE_NOTIFY) {
      event.withMemoryRebound(to: xcb_configure_notify_event_t.self, capacity: 1) {
        let outline = (Int($0.pointee.width), Int($0.pointee.height), Int($0.pointee.border_width))
        if outline != self.target.outline || self.isHidden { self.isTargetChanged = true }
      }
    } else if [XCB_UNMAP_NOTIFY, XCB_MAP_NOTIFY, XCB_VISIBILITY_NOTIFY].contains(Int32(type)) {
      // A window that comes back, alone or with the one around it, has a picture of its own again.
      if self.specification.window != nil { self.isTargetChanged = true }
    } else if type == UInt8(XCB_DESTROY_NOTIFY) {
      self.isDestroyed = true
    }
  }
}

// MARK: What is captured

extension ScreenSession {
  /// Looks up anew what is to be captured, and whether there is anything.
  private func findTarget(
    _ consumer: any VideoConsumer, _ formatChanged: (VideoFormat) -> Void
  ) throws(ScreenTarget.Problem) {
    let target: ScreenTarget
    do throws(ScreenTarget.Problem) {
      target = try ScreenTarget(self.specification, frameRate: self.frameRate, connection: self.connection)
    } catch {
      guard case .hidden(let error) = error else { throw error }
      self.isTargetChanged = false
      if !self.isHidden { consumer.captureEnded(error) }
      self.isHidden = true
      self.lastFrame = nil
      return
    }
    if self.specification.window != nil { xcb_free_pixmap(self.connection.pointer, self.target.area.drawable) }
    let isSame = target.format == self.target.format && target.area.pixels == self.target.area.pixels
    self.target = target
    self.isTargetChanged = false
    self.isHidden = false
    self.isForced = true
    if isSame {
      self.ring.area = target.area
      self.ring.markStale(RowRanges(0..<target.format.height))
    } else {
      self.lastFrame = nil
      self.ring = ScreenRing(target.area, format: target.format, connection: self.connection)
      formatChanged(target.format)
      consumer.captureFormatChanged(to: target.format)
    }
  }
}

// MARK: Pictures

extension ScreenSession {
  /// Takes a picture if there is something new to see.
  private func look(_ consumer: any VideoConsumer) throws(ScreenTarget.Problem) {
    do throws(X11Failure) {
      let pointer = try self.pointer()
      let area = pointer.flatMap { self.cursor?.area(at: $0, in: self.target.format) }
      if self.isDamaged || self.isForced || area != self.cursorArea {
        try self.takePicture(consumer, pointer: pointer, cursorArea: area)
      }
      self.refusals = 0
    } catch {
      self.refusals += 1
      guard case .refused = error, self.refusals < Self.refusalLimit else { throw .server(error) }
      // Most likely the window was resized or closed just now.
      self.isTargetChanged = true
    }
  }

  /// Where the cursor points in the picture, and how it looks; nil when it is not to be seen.
  private func pointer() throws(X11Failure) -> (x: Int, y: Int)? {
    guard self.showsCursor else { return nil }
    let reply = try self.connection.reply(
      xcb_query_pointer(self.connection.pointer, self.target.window).sequence, xcb_query_pointer_reply_t.self)
    if self.isCursorChanged {
      self.isCursorChanged = false
      self.cursor = try ScreenCursor(of: self.connection)
      if self.cursorArea != nil { self.isForced = true }
    }
    guard reply.content.same_screen != 0 else { return nil }
    return (Int(reply.content.win_x) - self.target.region.x, Int(reply.content.win_y) - self.target.region.y)
  }

  private func takePicture(
    _ consumer: any VideoConsumer, pointer: (x: Int, y: Int)?, cursorArea: ScreenSpecification.Region?
  ) throws(X11Failure) {
    guard let slot = try self.ring.freeSlot() else {
      consumer.captureSkipped(at: self.clock.now())
      return
    }
    if self.isDamaged {
      let rows = try self.takeDamage()
      self.ring.markStale(rows)
      guard !rows.isEmpty || self.isForced || cursorArea != self.cursorArea else { return }
    }
    let time = self.clock.now()
    let buffer = try self.ring.picture(
      in: slot, cursor: pointer == nil ? nil : self.cursor, at: pointer ?? (0, 0))
    self.isForced = false
    self.cursorArea = cursorArea
    let frame = VideoFrame(buffer: buffer, timestamp: time)
    self.lastFrame = frame
    consumer.consume(frame)
  }

  /// The rows of the picture that have changed since this was last asked for.
  private func takeDamage() throws(X11Failure) -> RowRanges {
    let region = self.target.region
    guard let damage = self.damage else { return RowRanges(0..<region.height) }
    self.isDamaged = false
    xcb_damage_subtract(self.connection.pointer, damage.record, 0, damage.parts)
    let reply = try self.connection.reply(
      xcb_xfixes_fetch_region(self.connection.pointer, damage.parts).sequence, xcb_xfixes_fetch_region_reply_t.self)
    var rows = RowRanges()
    let rectangles = UnsafeBufferPointer(
      start: xcb_xfixes_fetch_region_rectangles(reply.pointer),
      count: Int(xcb_xfixes_fetch_region_rectangles_length(reply.pointer)))
    for rectangle in rectangles {
      let changed = ScreenSpecification.Region(
        x: Int(rectangle.x), y: Int(rectangle.y), width: Int(rectangle.width), height: Int(rectangle.height)
      ).intersection(region)
      if let changed { rows.insert((changed.y - region.y)..<(changed.y - region.y + changed.height)) }
    }
    return rows
  }
}
#endif
