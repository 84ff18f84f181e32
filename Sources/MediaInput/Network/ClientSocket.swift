internal import Authentication
internal import CLibav
internal import Codecs
internal import Libc
internal import Media
internal import NIOCore
internal import Threading

/// A TCP connection to a server, used by one thread at a time; its calls end when a source is stopped.
struct ClientSocket: ~Copyable {
  private let number: Int32
  private let specification: NetworkSpecification
  private let interrupt: LibavInterrupt

  /// Interval at which waits look whether the source was stopped.
  private static let pollInterval = MediaDuration.milliseconds(100)
  private static let receiveByteCount = 64 << 10

  /// Connects to the first address of a host that accepts.
  ///
  /// - Parameter deadline: Time at which to give up.
  /// - Throws: ``VidiconError`` as for every network source; link-local addresses are refused where they are not allowed.
  init(
    to specification: NetworkSpecification, defaultPort: Int, interrupt: LibavInterrupt, deadline: MediaTime
  ) throws(VidiconError) {
    self.specification = specification
    self.interrupt = interrupt
    var hints = addrinfo()
    #if canImport(Darwin)
    hints.ai_socktype = SOCK_STREAM
    #else
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #endif
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(specification.host, "\(specification.port ?? defaultPort)", &hints, &list) == 0 else {
      throw VidiconError(network: -EIO, of: specification)
    }
    defer { freeaddrinfo(list) }
    var failure = VidiconError(network: -EIO, of: specification)
    var next = list
    while let entry = next {
      next = entry.pointee.ai_next
      guard let address = entry.pointee.ai_addr else { continue }
      if !specification.allowsLinkLocal,
        IPAddress(address, length: entry.pointee.ai_addrlen)?.isLinkLocalOrMetadata ?? true
      {
        throw .refusedLinkLocal(specification.description)
      }
      do throws(VidiconError) {
        self.number = try Self.connect(
          entry.pointee, specification, interrupt: interrupt, deadline: deadline)
        return
      } catch {
        failure = error
      }
    }
    throw failure
  }

  deinit {
    close(self.number)
  }

  private static func connect(
    _ entry: addrinfo, _ specification: NetworkSpecification, interrupt: LibavInterrupt, deadline: MediaTime
  ) throws(VidiconError) -> Int32 {
    let number = socket(entry.ai_family, entry.ai_socktype, entry.ai_protocol)
    guard number >= 0 else { throw VidiconError(network: -errno, of: specification) }
    _ = fcntl(number, F_SETFD, FD_CLOEXEC)
    _ = fcntl(number, F_SETFL, O_NONBLOCK)
    var one: Int32 = 1
    #if canImport(Darwin)
    setsockopt(number, SOL_SOCKET, SO_NOSIGPIPE, &one, socklen_t(MemoryLayout<Int32>.size))
    #endif
    setsockopt(number, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    var status: Int32 = 0
    #if canImport(Darwin)
    let result = Darwin.connect(number, entry.ai_addr, entry.ai_addrlen)
    #else
    let result = Glibc.connect(number, entry.ai_addr, entry.ai_addrlen)
    #endif
    if result != 0 {
      status = errno
      if status == EINPROGRESS {
        status = Self.wait(for: number, POLLOUT, until: deadline, interrupt) ? 0 : ETIMEDOUT
        var length = socklen_t(MemoryLayout<Int32>.size)
        if status == 0 { getsockopt(number, SOL_SOCKET, SO_ERROR, &status, &length) }
      }
    }
    guard status == 0 else {
      close(number)
      throw VidiconError(network: -status, of: specification)
    }
    return number
  }

  /// Waits for an event.
  ///
  /// - Returns: Whether it has come before the deadline, and before the source was stopped.
  private static func wait(for number: Int32, _ event: Int32, until deadline: MediaTime, _ interrupt: LibavInterrupt)
    -> Bool
  {
    while !interrupt.isCancelled {
      let rest = deadline - StreamClock.system.now()
      guard rest > .zero else { return false }
      var descriptor = pollfd(fd: number, events: Int16(event), revents: 0)
      let milliseconds = (min(rest, Self.pollInterval).nanoseconds + 999_999) / 1_000_000
      if poll(&descriptor, 1, Int32(clamping: milliseconds)) > 0 { return true }
    }
    return false
  }

  /// Receives the bytes that have arrived.
  ///
  /// - Parameter deadline: Time up to which to wait for the first byte.
  /// - Returns: The bytes; nil where none has come up to then.
  /// - Throws: ``VidiconError`` when the connection has ended.
  func receive(until deadline: MediaTime) throws(VidiconError) -> ByteBuffer? {
    var buffer = ByteBuffer()
    var status: Int32 = 0
    while true {
      let count = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.receiveByteCount) { space in
        let count = recv(self.number, space.baseAddress, space.count, 0)
        if count < 0 { status = errno }
        return max(0, count)
      }
      if count > 0 { return buffer }
      guard status != 0 else { throw VidiconError(network: vidicon_averror_eof, of: self.specification) }
      guard status == EAGAIN || status == EINTR else { throw VidiconError(network: -status, of: self.specification) }
      status = 0
      guard Self.wait(for: self.number, POLLIN, until: deadline, self.interrupt) else { return nil }
    }
  }

  /// Sends all bytes.
  ///
  /// - Throws: ``VidiconError`` when the connection has ended, or nothing is accepted up to the deadline.
  func send(_ bytes: ByteBuffer, until deadline: MediaTime) throws(VidiconError) {
    #if canImport(Darwin)
    let flags: Int32 = 0
    #else
    let flags = Int32(MSG_NOSIGNAL)
    #endif
    var rest = bytes
    while rest.readableBytes > 0 {
      var status: Int32 = 0
      rest.readWithUnsafeReadableBytes { bytes in
        let count = Self.send(self.number, bytes, flags)
        if count < 0 { status = errno }
        return max(0, count)
      }
      guard status != 0, status != EINTR else { continue }
      guard status == EAGAIN else { throw VidiconError(network: -status, of: self.specification) }
      guard Self.wait(for: self.number, POLLOUT, until: deadline, self.interrupt) else {
        throw VidiconError(network: -ETIMEDOUT, of: self.specification)
      }
    }
  }

  private static func send(_ number: Int32, _ bytes: UnsafeRawBufferPointer, _ flags: Int32) -> Int {
    #if canImport(Darwin)
    Darwin.send(number, bytes.baseAddress, bytes.count, flags)
    #else
    Glibc.send(number, bytes.baseAddress, bytes.count, flags)
    #endif
  }
}
