#if os(Linux)
internal import Capture
internal import Threading
internal import CXCB
internal import Media

// Safe because one thread at a time uses it: the one that creates it, then the capture thread.
/// Captures a screen or window over one connection to the X server.
final class ScreenSession: @unchecked Sendable {
  /// Reasons why ``run(_:formatChanged:)`` returned.
  enum End {
    /// The capturer was stopped.
    case stopped
    /// No more frames can follow.
    case closed(VidiconError)
    /// The connection was lost; the X server is to be searched for.
    case lost(VidiconError)
  }

  /// Time after which the last frame is delivered again.
  private static let keepAlive = MediaDuration.milliseconds(500)
  /// Maximum number of consecutive requests for an image that the server may reject, as it does between the resizing of a
  /// window and the event that reports it.
  private static let refusalLimit = 3

  private let specification: ScreenSpecification
  private let frameRate: FrameRate
  private let connection: X11Connection
  private var target: ScreenTarget
  private var ring: ScreenRing
  /// The server's damage object, and a region object for copies of its content; nil without the Damage extension.
  private var damage: (record: UInt32, parts: UInt32)?
  private var cursor: ScreenCursor?

  /// Whether the screen has changed since the last frame.
  private var isDamaged = true
  /// Whether the pointer's image has changed since it was fetched.
  private var isCursorChanged = true
  /// Whether the target must be resolved again.
  private var isTargetChanged = false
  /// Whether a frame is captured even without change.
  private var isForced = true
  /// Whether the target cannot be captured for now.
  private var isHidden = false
  private var isDestroyed = false
  private var refusals = 0
  /// The part of the last frame that the pointer covers.
  private var cursorArea: ScreenSpecification.Region?
  private var lastFrame: VideoFrame?
  /// Index of the last instant on the frame rate's grid at which the screen was checked.
  private var lastIndex: Int64

  private let grid: FrameGrid
  private let clock = StreamClock.system

  /// Resolves the specification and subscribes to changes.
  ///
  /// - Throws: ``VidiconError`` when the target does not exist, is not visible, or has an unsupported pixel format.
  init(_ specification: ScreenSpecification, frameRate: FrameRate, connection: X11Connection) throws(VidiconError) {
    let source = specification.description
    self.specification = specification
    self.frameRate = frameRate
    self.connection = connection
    do throws(ScreenTarget.Problem) {
      if let window = specification.window {
        try ScreenTarget.redirect(window, connection, source: source)
      }
      // Subscribes to events first, so that no change between this query and the first frame is missed.
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

  /// Current format of the frames.
  var format: VideoFormat {
    self.target.format
  }

  /// Delivers frames until the session ends.
  ///
  /// - Parameter formatChanged: Called with a new format before the consumer is.
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
        .failed, subject: source, cause: "the X server does not provide its image (error \(code))",
        nextStep: "choose another screen, window or region")
    case .timedOut:
      VidiconError(
        .failed, subject: source, cause: "the X server does not respond", nextStep: "check whether it hangs")
    case .interrupted, .lost:
      VidiconError(
        .failed, subject: source, cause: "the connection to the X server was lost",
        nextStep: "check whether its session has ended")
    }
  }
}

// MARK: Event loop

extension ScreenSession {
  /// Processes the pending events, then waits for the next deadline or performs what is due.
  private func step(
    _ consumer: any VideoConsumer, _ formatChanged: (VideoFormat) -> Void
  ) throws(ScreenTarget.Problem) {
    try self.mappingErrors { () throws(X11Failure) in
      while let event = try self.connection.nextEvent() { self.handle(event.pointer) }
    }
    if self.isDestroyed {
      throw .gone(
        VidiconError(
          .notFound, subject: self.specification.description, cause: "the window was closed",
          nextStep: "choose another one; list the open windows with: vidicon devices"))
    }
    let due = [self.nextTick, self.nextRepetition].compactMap { $0 }.min()
    let now = self.clock.now()
    guard let due, due <= now else {
      let outcome = try self.mappingErrors { () throws(X11Failure) in try self.connection.wait(until: due) }
      if outcome == .stopped { throw .server(.interrupted) }
      return
    }
    if let tick = self.nextTick, tick <= now {
      self.lastIndex = self.grid.index(at: now)
      if self.isTargetChanged { try self.updateTarget(consumer, formatChanged) }
      if !self.isHidden { try self.captureIfChanged(consumer) }
    }
    if let repetition = self.nextRepetition, repetition <= now, var frame = self.lastFrame {
      frame.timestamp = now
      self.lastFrame = frame
      consumer.consume(frame)
    }
  }

  /// Time of the next check of the screen; nil while only an event can cause one.
  private var nextTick: MediaTime? {
    let isDue = self.isTargetChanged || !self.isHidden && (self.isDamaged || self.isForced || self.showsCursor)
    return isDue ? self.grid.time(of: self.lastIndex + 1) : nil
  }

  /// Time at which the last frame is delivered again.
  private var nextRepetition: MediaTime? {
    self.isHidden ? nil : self.lastFrame.map { $0.timestamp + Self.keepAlive }
  }

  private var showsCursor: Bool {
    self.specification.showsCursor && self.connection.extensions.fixesEvent != nil
  }

  private func mappingErrors<Output>(
    _ body: () throws(X11Failure) -> Output
  ) throws(ScreenTarget.Problem) -> Output {
    do throws(X11Failure) {
      return try body()
    } catch {
      throw .server(error)
    }
  }

  private func handle(_ event: UnsafeMutablePointer<xcb_generic_event_t>) {
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
      // A window that is mapped again, by itself or with its parent, has a new pixmap.
      if self.specification.window != nil { self.isTargetChanged = true }
    } else if type == UInt8(XCB_DESTROY_NOTIFY) {
      self.isDestroyed = true
    }
  }
}

// MARK: Target

extension ScreenSession {
  /// Resolves the target again after it changed.
  private func updateTarget(
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

// MARK: Frames

extension ScreenSession {
  /// Captures a frame if the screen or the pointer has changed.
  private func captureIfChanged(_ consumer: any VideoConsumer) throws(ScreenTarget.Problem) {
    do throws(X11Failure) {
      let pointer = try self.pointer()
      let area = pointer.flatMap { self.cursor?.area(at: $0, in: self.target.format) }
      if self.isDamaged || self.isForced || area != self.cursorArea {
        try self.captureFrame(consumer, pointer: pointer, cursorArea: area)
      }
      self.refusals = 0
    } catch {
      self.refusals += 1
      guard case .refused = error, self.refusals < Self.refusalLimit else { throw .server(error) }
      // Usually the window was just resized or closed.
      self.isTargetChanged = true
    }
  }

  /// Position of the pointer in the frame; nil when it is hidden or on another screen. Updates its image.
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

  private func captureFrame(
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
    let buffer = try self.ring.capture(
      in: slot, cursor: pointer == nil ? nil : self.cursor, at: pointer ?? (0, 0))
    self.isForced = false
    self.cursorArea = cursorArea
    let frame = VideoFrame(buffer: buffer, timestamp: time)
    self.lastFrame = frame
    consumer.consume(frame)
  }

  /// The rows of the frame that have changed since the last call.
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
