import Authentication
import Media
import NIOCore

/// Checks of the text that decides on access: `Host`, `Origin`, `Authorization`, tokens and the user file.
struct AccessFuzzCase {
  private let text: String

  init(_ input: ByteBuffer) {
    self.text = String(buffer: input)
  }

  func run() {
    self.checkHost()
    self.checkOrigin()
    self.checkAuthorization()
    self.checkUserFile()
    if let hash = try? PasswordHash(parsing: self.text) {
      precondition((try? PasswordHash(parsing: hash.text)) == hash, "a written hash parses the same")
    }
  }

  private func checkHost() {
    guard let authority = Authority(parsing: self.text) else { return }
    precondition(!authority.host.isEmpty && !authority.host.utf8.contains(UInt8(ascii: "@")), "a host has no user")
    let policy = HostPolicy(names: ["cam.example.org"])
    guard policy.allows(authority), authority.address == nil, authority.host.dropLast().contains(".") else { return }
    let names = ["cam.example.org", ".local", ".lan", ".home.arpa", ".internal"]
    let host = authority.host.hasSuffix(".") ? authority.host.dropLast() : authority.host[...]
    precondition(names.contains { host.hasSuffix($0) }, "a public name is allowed")
  }

  private func checkOrigin() {
    _ = OriginPolicy.isOrigin(self.text)
    let named = OriginPolicy(origins: ["https://site.example"])
    if let allowed = named.allowedOrigin(for: self.text) {
      precondition(Origin(parsing: allowed)?.description == "https://site.example:443", "another site is allowed")
    }
    for host in ["cam", "cam:8080", "[::1]:80"] {
      guard let authority = Authority(parsing: host), OriginPolicy.isSame(self.text, as: authority) else { continue }
      precondition(Origin(parsing: self.text)?.authority.host == authority.host, "another host is the same origin")
    }
    if let address = IPAddress(parsing: self.text) { precondition(address.network.network == address.network) }
  }

  /// Checks that a stranger neither controls nor watches, whatever is sent, and that a request counts at most one
  /// failure.
  private func checkAuthorization() {
    var settings = AccessSettings()
    settings.users = [
      Credentials(user: "anna", password: "b\u{1}c\u{2}d"),
      Credentials(user: "ben", password: "\u{3}", role: .operator),
    ]
    let access = AccessControl(settings: settings, makeRandom: { 1 })
    for allowsBasic in [true, false] {
      let request = AccessRequest(
        method: "PUT", authorization: [self.text], token: self.text, address: self.text, allowsBasic: allowsBasic,
        changesState: true)
      for second in 0..<8 {
        let now = MediaTime(nanoseconds: Int64(second) * 1_000_000_000)
        precondition(access.passwordCheck(for: request, now: now) == nil, "no user has a hash")
        let identification = access.identify(request, covers: { _ in true }, now: now)
        if case .allowed = access.decide(.configure, for: identification, isOnThisMachine: true) {
          preconditionFailure("a configuration is taken without its token")
        }
        for permission in [Permission.watch, .control, .readRecordings, .publish(stream: self.text)] {
          if case .allowed(let role) = access.decide(permission, for: identification, isOnThisMachine: true) {
            // Passwords that only Basic with these exact bytes contains.
            precondition(self.text.utf8.contains(UInt8(ascii: " ")) && role != .publisher(stream: self.text))
          }
        }
      }
    }
    precondition(access.refusals[.failedLogin] <= 16, "a request fails at most once")
  }

  private func checkUserFile() {
    guard let file = try? UserFile(parsing: self.text) else { return }
    for user in file.users {
      precondition(user.isUsable, "a user of the file cannot log in")
      precondition("\(user)".contains("<redacted>"), "a password prints")
    }
    precondition(Set(file.users.map(\.user)).count == file.users.count, "a name is used twice")
  }
}
