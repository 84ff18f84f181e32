#if os(Linux)
internal import Threading
internal import CXCB
internal import Libc
internal import Media

/// A failed request to an X server.
enum X11Failure: Error, Hashable {
  /// The wait was interrupted by ``WakePipe/stop()``.
  case interrupted
  /// The deadline has passed.
  case timedOut
  /// The connection is broken.
  case lost
  /// The server reported an error with this code.
  case refused(UInt8)
}

// Safe because one thread at a time uses it: the one that creates it, then the one that receives it.
/// A connection to an X server whose waits can be interrupted by a ``WakePipe``.
final class X11Connection: @unchecked Sendable {
  /// The connection of libxcb.
  let pointer: OpaquePointer
  /// The screen that the display name selects.
  let screen: xcb_screen_t
  /// The server's extensions.
  private(set) var extensions = X11Extensions()
  /// Time limit of ``reply(_:_:)``; nil for none.
  var deadline: MediaTime?
  /// The socket, for polling.
  private let descriptor: Int32
  private let wake: WakePipe

  /// Connects and queries the extensions.
  ///
  /// - Throws: ``VidiconError`` as ``X11AccessProbe``, and ``VidiconError/Code/notFound`` when there is no such screen.
  init(_ display: X11Display, wake: WakePipe, source: String) throws(VidiconError) {
    let probe = try X11AccessProbe(display, source: source)
    defer { withExtendedLifetime(probe) {} }
    var number: Int32 = 0
    let pointer = Self.connect(display, probe.authority, screen: &number)
    let status = xcb_connection_has_error(pointer)
    guard status == 0, let pointer, let screen = Self.screen(number, of: pointer) else {
      xcb_disconnect(pointer)
      if status == 0 || status == XCB_CONN_CLOSED_INVALID_SCREEN {
        throw VidiconError(
          .notFound, subject: source, cause: "the X server at \(display.name) has no screen with this number",
          nextStep: "leave out the number after the dot of the display name")
      }
      throw VidiconError(
        .failed, subject: source, cause: "the X server at \(display.name) closed the connection",
        nextStep: "check whether it still runs")
    }
    self.pointer = pointer
    self.screen = screen
    self.descriptor = xcb_get_file_descriptor(pointer)
    self.wake = wake
    self.deadline = StreamClock.system.now() + .seconds(5)
    do throws(X11Failure) {
      self.extensions = try X11Extensions(self)
    } catch {
      throw VidiconError(
        .failed, subject: source, cause: "the X server at \(display.name) does not respond",
        nextStep: "check whether it hangs")
    }
  }

  deinit {
    xcb_disconnect(self.pointer)
  }

  /// Whether the connection is a local socket, which can pass file descriptors.
  var isLocal: Bool {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let status = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(self.descriptor, $0, &length) }
    }
    return status == 0 && Int32(address.ss_family) == AF_UNIX
  }

  /// Allocates an identifier for an object in the server.
  func makeIdentifier() -> UInt32 {
    xcb_generate_id(self.pointer)
  }

  /// Sends enqueued requests and waits for a reply.
  ///
  /// - Parameter sequence: Sequence number from the request's cookie.
  func reply<Reply>(_ sequence: UInt32, _: Reply.Type) throws(X11Failure) -> X11Reply<Reply> {
    while true {
      var reply: UnsafeMutableRawPointer?
      var error: UnsafeMutablePointer<xcb_generic_error_t>?
      if xcb_poll_for_reply(self.pointer, sequence, &reply, &error) != 0 {
        if let reply { return X11Reply(reply) }
        guard let error else { throw .lost }
        defer { free(error) }
        throw .refused(error.pointee.error_code)
      }
      switch try self.wait(until: self.deadline) {
      case .timedOut: throw .timedOut
      case .stopped: throw .interrupted
      case .ready, .woken: continue
      }
    }
  }

  /// Sends enqueued requests and waits until the server has executed one without reply.
  ///
  /// - Parameter cookie: Cookie of a `…_checked` request.
  func check(_ cookie: xcb_void_cookie_t) throws(X11Failure) {
    _ = try self.reply(xcb_get_input_focus(self.pointer).sequence, xcb_get_input_focus_reply_t.self)
    // Does not wait: the server has executed a later request.
    guard let error = xcb_request_check(self.pointer, cookie) else { return }
    defer { free(error) }
    throw .refused(error.pointee.error_code)
  }

  /// The next event received, if any; errors of unchecked requests are discarded.
  func nextEvent() throws(X11Failure) -> X11Reply<xcb_generic_event_t>? {
    while let event = xcb_poll_for_event(self.pointer) {
      let event = X11Reply<xcb_generic_event_t>(UnsafeMutableRawPointer(event))
      if event.pointer.pointee.response_type != 0 { return event }
    }
    if xcb_connection_has_error(self.pointer) != 0 { throw .lost }
    return nil
  }

  /// Sends enqueued requests and waits for data from the server.
  func wait(until deadline: MediaTime?) throws(X11Failure) -> WakePipe.Outcome {
    guard xcb_flush(self.pointer) > 0, xcb_connection_has_error(self.pointer) == 0 else { throw .lost }
    return self.wake.wait(for: self.descriptor, until: deadline)
  }

  /// Sends enqueued requests.
  func flush() {
    xcb_flush(self.pointer)
  }

  private static func connect(
    _ display: X11Display, _ authority: X11Authority, screen: inout Int32
  ) -> OpaquePointer? {
    var name = authority.name.map { CChar(truncatingIfNeeded: $0) } + [0]
    var data = authority.data.map { CChar(truncatingIfNeeded: $0) } + [0]
    return name.withUnsafeMutableBufferPointer { name in
      data.withUnsafeMutableBufferPointer { data in
        var information = xcb_auth_info_t(
          namelen: Int32(name.count - 1), name: name.baseAddress, datalen: Int32(data.count - 1),
          data: data.baseAddress)
        return xcb_connect_to_display_with_auth_info(display.name, &information, &screen)
      }
    }
  }

  private static func screen(_ number: Int32, of pointer: OpaquePointer) -> xcb_screen_t? {
    var screens = xcb_setup_roots_iterator(xcb_get_setup(pointer))
    var left = number
    while left > 0, screens.rem > 1 {
      xcb_screen_next(&screens)
      left -= 1
    }
    return left == 0 && screens.rem > 0 ? screens.data.pointee : nil
  }
}

/// A reply or event of the X server, freed with this value.
struct X11Reply<Content>: ~Copyable {
  /// The fixed part; variable parts follow in memory.
  let pointer: UnsafeMutablePointer<Content>

  /// Adopts memory that libxcb has allocated, and frees it at the end.
  init(_ memory: UnsafeMutableRawPointer) {
    self.pointer = memory.assumingMemoryBound(to: Content.self)
  }

  deinit {
    free(self.pointer)
  }

  /// A copy of the fixed part.
  var content: Content { self.pointer.pointee }
}
#endif
