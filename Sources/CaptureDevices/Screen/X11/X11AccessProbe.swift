#if os(Linux)
internal import CALSA  // The release build attributes `timeval` to this module.
internal import Media
internal import Threading
internal import Libc

/// A first connection to an X server, which probes whether the server accepts the user's credentials.
///
/// libxcb only reports that connecting failed, and prints the server's reason to standard error. The probe stays connected
/// until the actual connection exists, since a server without connections may reset.
final class X11AccessProbe {
  /// The accepted credentials.
  let authority: X11Authority
  private let socket: Int32
  /// Maximum time for one send or receive, in seconds.
  private static let timeoutSeconds = 5

  /// Connects and authenticates; blocks for the time of name resolution and at most ten seconds more.
  ///
  /// - Throws: ``VidiconError``: ``VidiconError/Code/notFound`` when there is no server,
  ///   ``VidiconError/Code/notPermitted`` when it rejects the credentials.
  init(_ display: X11Display, source: String) throws(VidiconError) {
    switch Self.connect(display) {
    case .success(let socket): self.socket = socket
    case .failure(let failure):
      throw VidiconError(
        .notFound, subject: source, cause: "there is no X server at \(display.name) (\(failure.message))",
        nextStep: "check DISPLAY, and that the X server runs and listens there")
    }
    self.authority = X11Authority(of: display, socket: self.socket)
    guard let reply = self.authenticate() else {
      throw VidiconError(
        .failed, subject: source, cause: "the X server at \(display.name) does not respond",
        nextStep: "check whether it hangs or has too many connections")
    }
    guard case .refused(let reason) = reply else { return }
    let file = X11Display.variable("XAUTHORITY").map { "XAUTHORITY is \($0)" } ?? "XAUTHORITY is not set"
    throw VidiconError(
      .notPermitted, subject: source,
      cause: "the X server at \(display.name) rejects the connection" + (reason.isEmpty ? "" : " (\(reason))"),
      nextStep: "run it as the user whose screen it is, or set XAUTHORITY to that user's file (\(file))")
  }

  deinit {
    close(self.socket)
  }

  private struct ConnectionFailure: Error {
    var message: String
  }

  private func authenticate() -> X11Setup.Reply? {
    let request = X11Setup.request(name: self.authority.name, data: self.authority.data)
    guard send(self.socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else { return nil }
    let head = self.read(X11Setup.headLength)
    guard let length = X11Setup.reasonLength(head: head) else { return nil }
    return X11Setup.reply(parsing: head + self.read(length))
  }

  /// Reads bytes; fewer when the server closes the connection or times out.
  private func read(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let size = bytes.withUnsafeMutableBytes { recv(self.socket, $0.baseAddress! + filled, count - filled, 0) }
      if size < 0, errno == EINTR { continue }
      guard size > 0 else { break }
      filled += size
    }
    return Array(bytes.prefix(filled))
  }

  private static func connect(_ display: X11Display) -> Result<Int32, ConnectionFailure> {
    if let host = display.host { return self.connect(host, port: 6_000 + display.number) }
    let path = "/tmp/.X11-unix/X\(display.number)"
    // Linux' abstract socket namespace comes first, as in libxcb.
    let isConnected = self.connect(path: [0] + Array(path.utf8))
    if case .success = isConnected { return isConnected }
    return self.connect(path: Array(path.utf8) + [0])
  }

  private static func connect(path: [UInt8]) -> Result<Int32, ConnectionFailure> {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
    let length = MemoryLayout<sa_family_t>.size + path.count
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        self.connect(family: AF_UNIX, address: $0, length: socklen_t(length))
      }
    }
  }

  private static func connect(_ host: String, port: Int32) -> Result<Int32, ConnectionFailure> {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let name = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    let status = getaddrinfo(name, "\(port)", &hints, &list)
    guard status == 0 else { return .failure(ConnectionFailure(message: String(cString: gai_strerror(status)))) }
    defer { freeaddrinfo(list) }
    var outcome = Result<Int32, ConnectionFailure>.failure(ConnectionFailure(message: "it has no address"))
    var next = list
    while let entry = next?.pointee {
      if let address = entry.ai_addr {
        outcome = self.connect(family: entry.ai_family, address: address, length: entry.ai_addrlen)
        if case .success = outcome { return outcome }
      }
      next = entry.ai_next
    }
    return outcome
  }

  private static func connect(
    family: Int32, address: UnsafePointer<sockaddr>, length: socklen_t
  ) -> Result<Int32, ConnectionFailure> {
    let descriptor = Glibc.socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return .failure(ConnectionFailure(message: systemErrorMessage(errno))) }
    var timeout = timeval(tv_sec: self.timeoutSeconds, tv_usec: 0)
    for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
      setsockopt(descriptor, SOL_SOCKET, option, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }
    guard Glibc.connect(descriptor, address, length) == 0 else {
      let number = errno == EINPROGRESS ? ETIMEDOUT : errno
      close(descriptor)
      return .failure(ConnectionFailure(message: systemErrorMessage(number)))
    }
    return .success(descriptor)
  }
}
#endif
