internal import Cryptography
internal import Libc
internal import Media
internal import Threading

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Folder with the local authority, and the certificate that it has issued last, readable by this user only (mode 0600).
///
/// Both are reused across runs: phones trust the authority, and browsers have accepted the certificate.
struct CertificateFolder: Sendable {
  /// Maximum size of a file, in bytes.
  private static let maximumBytes = 64 * 1024

  /// The key and the certificate of the authority in one file, so that no process finds one without the other.
  private let authorityFile: String
  private let certificateFile: String
  private let keyFile: String
  private let path: String

  /// - Parameter path: nil for the default, `$XDG_STATE_HOME/vidicon` or `~/.local/state/vidicon`.
  /// - Throws: `VidiconError` with `notFound` when neither variable is set.
  init(_ path: String?) throws(VidiconError) {
    guard let path = path ?? Self.defaultPath else {
      throw VidiconError(
        .notFound, subject: "the certificate", cause: "there is no home folder to store it in",
        nextStep: "set HOME or XDG_STATE_HOME, or give a certificate and its key")
    }
    self.path = path
    self.authorityFile = path + "/authority-key.pem"
    self.certificateFile = path + "/certificate.pem"
    self.keyFile = path + "/certificate-key.pem"
  }

  /// Reads the authority, or generates it where there is no file.
  ///
  /// - Throws: `VidiconError` for a file that cannot be read or written, that other users can read, or that is no authority
  ///   with constraints. Such a file is never replaced: phones may trust the authority that it was.
  func authority(for names: CertificateNames, now: Date) throws(VidiconError) -> LocalAuthority {
    if let stored = try self.storedAuthority(now: now) { return stored }
    let (authority, pem): (LocalAuthority, String)
    do {
      authority = try LocalAuthority(for: names, now: now)
      pem = try authority.pem
    } catch {
      throw Self.failure(error)
    }
    try self.makeFolder()
    if try self.create(self.authorityFile, pem) { return authority }
    // Another process was faster.
    guard let stored = try self.storedAuthority(now: now) else { throw Self.unwritable(self.authorityFile) }
    return stored
  }

  /// Reads the certificate, or issues another one where it cannot be kept; see ``IssuedCertificate/RenewalReason``.
  ///
  /// - Parameter report: Receives the error of a certificate that is used, but cannot be stored.
  func certificate(
    of authority: LocalAuthority, for names: CertificateNames, now: Date, report: (VidiconError) -> Void
  ) throws(VidiconError) -> IssuedCertificate {
    if let pem = try? self.read(self.certificateFile), let key = try? self.read(self.keyFile),
      let stored = IssuedCertificate(certificate: pem, key: key),
      stored.renewalReason(authority: authority, names: names, now: now) == nil
    {
      return stored
    }
    let issued: IssuedCertificate
    let (pem, key): (String, String)
    do {
      issued = try authority.issue(for: names, now: now)
      pem = try issued.certificate.pem
      key = try issued.key.pem
    } catch {
      throw Self.failure(error)
    }
    do throws(VidiconError) {
      try self.makeFolder()
      try self.replace(self.keyFile, key)
      try self.replace(self.certificateFile, pem)
    } catch {
      report(error)
    }
    return issued
  }

  /// The authority of the file; nil where there is none.
  func storedAuthority(now: Date) throws(VidiconError) -> LocalAuthority? {
    guard let pem = try self.read(self.authorityFile) else { return nil }
    do throws(LocalAuthority.Problem) {
      return try LocalAuthority(pem: pem, now: now)
    } catch {
      let cause =
        switch error {
        case .malformed: "it is not the key and certificate of an authority"
        case .unconstrained: "this authority is not limited to names and addresses of local networks"
        case .expired: "this authority has expired"
        }
      throw VidiconError(
        .invalidData, path: self.authorityFile, cause: cause,
        nextStep: "restore the file, or remove it to make a new authority, which phones have to install again")
    }
  }

  private static var defaultPath: String? {
    // Relative paths are ignored, XDG Base Directory Specification.
    if let state = Self.environment("XDG_STATE_HOME"), state.hasPrefix("/") { return state + "/vidicon" }
    return Self.environment("HOME").map { $0 + "/.local/state/vidicon" }
  }

  private static func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }
}

// MARK: Files

extension CertificateFolder {
  /// Reads a file that only this user reads and writes; nil where there is none.
  ///
  /// - Throws: `notPermitted` for a link, and for a file of another user or one that others can read.
  private func read(_ path: String) throws(VidiconError) -> String? {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw Self.unreadable(path)
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
      status.st_mode & 0o077 == 0
    else {
      throw VidiconError(
        .notPermitted, path: path, cause: "it is not a file that only this user reads and writes",
        nextStep: "remove it if others may know its key, or else give it to this user with mode 0600")
    }
    var bytes = [UInt8](repeating: 0, count: Self.maximumBytes)
    var count = 0
    while count < bytes.count {
      let length = bytes.withUnsafeMutableBytes { Self.read(descriptor, $0[count...]) }
      if length == 0 { break }
      guard length > 0 else { throw Self.unreadable(path) }
      count += length
    }
    // Bytes that are no UTF-8 become replacement characters, which PEM has none of.
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }

  /// The current `errno` for a file that cannot be read.
  private static func unreadable(_ path: String) -> VidiconError {
    VidiconError(
      .notPermitted, path: path, cause: "cannot be read (\(String(cString: strerror(errno))))",
      nextStep: "make it a file of this user, with mode 0600")
  }

  private static func read(_ descriptor: Int32, _ buffer: Slice<UnsafeMutableRawBufferPointer>) -> Int {
    let buffer = UnsafeMutableRawBufferPointer(rebasing: buffer)
    #if canImport(Darwin)
    return Darwin.read(descriptor, buffer.baseAddress, buffer.count)
    #else
    return Glibc.read(descriptor, buffer.baseAddress, buffer.count)
    #endif
  }

  private func makeFolder() throws(VidiconError) {
    let parts = self.path.split(separator: "/")
    for length in 1...max(1, parts.count) {
      let path = (self.path.hasPrefix("/") ? "/" : "") + parts.prefix(length).joined(separator: "/")
      guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw Self.unwritable(path) }
    }
  }

  /// Creates a file, complete at once.
  ///
  /// - Returns: Whether it was created; false where there is one already.
  private func create(_ path: String, _ text: String) throws(VidiconError) -> Bool {
    let temporary = try self.writeTemporary(text, for: path)
    defer { unlink(temporary) }
    switch ExclusiveName.give(path, to: temporary) {
    case .linked, .renamed: return true
    case .taken: return false
    case .failed(let error):
      errno = error
      throw Self.unwritable(path)
    }
  }

  /// Replaces a file, so that readers see the old or the new content.
  private func replace(_ path: String, _ text: String) throws(VidiconError) {
    let temporary = try self.writeTemporary(text, for: path)
    guard rename(temporary, path) == 0 else {
      let error = Self.unwritable(path)
      unlink(temporary)
      throw error
    }
  }

  /// Writes a file beside another one, with mode 0600, to the disk.
  private func writeTemporary(_ text: String, for path: String) throws(VidiconError) -> String {
    let temporary = "\(path).\(getpid()).\(UInt32.random(in: 0...UInt32.max))"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0, let file = fdopen(descriptor, "w") else { throw Self.unwritable(temporary) }
    let isWritten = fputs(text, file) >= 0 && fflush(file) == 0 && fsync(descriptor) == 0
    guard fclose(file) == 0, isWritten else {
      let error = Self.unwritable(temporary)
      unlink(temporary)
      throw error
    }
    return temporary
  }

  private static func failure(_ error: any Error) -> VidiconError {
    VidiconError(
      .failed, subject: "the certificate", cause: "cannot be generated (\(error))",
      nextStep: "give a certificate and its key")
  }

  /// The current `errno` for a path that cannot be written.
  private static func unwritable(_ path: String) -> VidiconError {
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
