internal import Media
internal import NIOCore

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// Stores the self-signed certificate and its key in a folder, readable by this user only (mode 0600).
///
/// The certificate is reused across runs, so that a browser that accepted it once does not warn again.
struct CertificateStore {
  let certificateFile: String
  let keyFile: String
  private let folder: String

  /// - Parameter folder: nil for the default, `$XDG_STATE_HOME/vidicon` or `~/.local/state/vidicon`.
  /// - Throws: `VidiconError` with `notFound` when neither variable is set.
  init(folder: String?) throws(VidiconError) {
    guard let folder = folder ?? Self.defaultFolder else {
      throw VidiconError(
        .notFound, subject: "the certificate", cause: "there is no home folder to store it in",
        nextStep: "set HOME or XDG_STATE_HOME, or give a certificate and its key")
    }
    self.folder = folder
    self.certificateFile = folder + "/certificate.pem"
    self.keyFile = folder + "/certificate-key.pem"
  }

  /// Generates a certificate, unless the stored one matches its key, names this host and has 30 days left.
  func renewIfNeeded() throws(VidiconError) {
    let names = Self.names
    if let pem = Self.read(self.certificateFile), let key = Self.read(self.keyFile),
      SelfSignedCertificate.isUsable(pem, key: key, names: names)
    {
      return
    }
    let made: (certificate: String, key: String)
    do {
      made = try SelfSignedCertificate.make(names: names, addresses: Self.addresses)
    } catch {
      throw VidiconError(
        .failed, subject: "the certificate", cause: "cannot be generated (\(error))",
        nextStep: "give a certificate and its key")
    }
    try self.makeFolder()
    try self.write(made.key, to: self.keyFile)
    try self.write(made.certificate, to: self.certificateFile)
  }

  private static var defaultFolder: String? {
    // Relative paths are ignored, XDG Base Directory Specification.
    if let state = Self.environment("XDG_STATE_HOME"), state.hasPrefix("/") { return state + "/vidicon" }
    return Self.environment("HOME").map { $0 + "/.local/state/vidicon" }
  }

  private static func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// `localhost`, the host name, and its multicast DNS name (`HOST.local`).
  private static var names: [String] {
    var buffer = [CChar](repeating: 0, count: 256)
    guard gethostname(&buffer, buffer.count - 1) == 0 else { return ["localhost"] }
    let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    let host = String(decoding: bytes, as: UTF8.self).lowercased()
    let first = host.prefix { $0 != "." }
    var names = ["localhost"]
    for name in [host, "\(first).local"] where !first.isEmpty && host.allSatisfy(\.isASCII) && !names.contains(name) {
      names.append(name)
    }
    return names
  }

  /// The addresses of all interfaces, loopback included: 4 or 16 bytes each.
  private static var addresses: [[UInt8]] {
    var addresses: [[UInt8]] = [[127, 0, 0, 1], [UInt8](repeating: 0, count: 15) + [1]]
    for device in (try? System.enumerateDevices()) ?? [] {
      guard let address = device.address, let text = address.ipAddress else { continue }
      var bytes = [UInt8](repeating: 0, count: address.protocol == .inet6 ? 16 : 4)
      // Without the scope of a link-local address ("%eth0").
      let host = String(text.prefix { $0 != "%" })
      guard inet_pton(address.protocol == .inet6 ? AF_INET6 : AF_INET, host, &bytes) == 1 else { continue }
      if !addresses.contains(bytes) { addresses.append(bytes) }
    }
    return addresses
  }

  private static func read(_ path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 64 * 1024)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(validating: bytes.prefix(count), as: UTF8.self)
  }

  private func makeFolder() throws(VidiconError) {
    let parts = self.folder.split(separator: "/")
    for length in 1...max(1, parts.count) {
      let path = (self.folder.hasPrefix("/") ? "/" : "") + parts.prefix(length).joined(separator: "/")
      guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw self.failure(path) }
    }
  }

  /// Writes a file with mode 0600 and renames it into place, so that readers see the old or the new content.
  private func write(_ text: String, to path: String) throws(VidiconError) {
    let temporary = "\(path).\(getpid())"
    unlink(temporary)
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0, let file = fdopen(descriptor, "w") else { throw self.failure(temporary) }
    let isWritten = fputs(text, file) >= 0
    guard fclose(file) == 0, isWritten, rename(temporary, path) == 0 else {
      let error = self.failure(path)
      unlink(temporary)
      throw error
    }
  }

  /// The current `errno` for a path that cannot be written.
  private func failure(_ path: String) -> VidiconError {
    let code: VidiconError.Code =
      switch errno {
      case EACCES, EPERM, EROFS: .notPermitted
      case ENOSPC, EDQUOT: .noSpace
      default: .failed
      }
    return VidiconError(
      code, path: path, cause: "cannot be written (\(String(cString: strerror(errno))))",
      nextStep: "make its folder writable, set XDG_STATE_HOME, or give a certificate and its key")
  }
}
