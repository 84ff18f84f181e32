import Foundation
import Media
import Testing

@testable import VidiconCommand

@Suite("Servers that run on this machine")
struct RunningServerTests {
  private static let (own, service) = ("0123456789abcdef", "fedcba9876543210")
  /// User of the files of a service, where a test may give files to others.
  private static let otherUser: uid_t = getuid() == 0 ? 65_534 : getuid()

  /// The folders of a user and of a service for the duration of `body`.
  private static func withFolders(_ body: (_ runtime: String, _ service: String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for name in ["user/vidicon", "service/vidicon"] {
      try FileManager.default.createDirectory(
        atPath: "\(folder)/\(name)", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
    try body("\(folder)/user", "\(folder)/service/vidicon")
  }

  /// Writes a file of a server, which is that of a user from then on, as is its folder.
  private static func write(_ text: String, to folder: String, _ name: String, user: uid_t = getuid()) throws {
    try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
    try #require(chmod("\(folder)/\(name)", 0o600) == 0)
    for path in [folder, "\(folder)/\(name)"] { try #require(chown(path, user, gid_t.max) == 0) }
  }

  private static func known(_ runtime: String, _ service: String, user: uid_t) throws -> [RunningServer] {
    let environment = ["XDG_RUNTIME_DIR": runtime, "XDG_STATE_HOME": "\(runtime)/state", "HOME": runtime]
    return try RunningServer.known(environment: environment, user: user, serviceFolder: service)
  }

  @Test func `root finds the service of the package, and other users do not`() throws {
    try Self.withFolders { runtime, service in
      try Self.write(Self.service, to: service, "control-8080", user: Self.otherUser)
      try Self.write("http://127.0.0.2:8080\n", to: service, "address-8080", user: Self.otherUser)
      for user in [0, Self.otherUser] {
        let servers = try Self.known(runtime, service, user: user)
        #expect(servers.map(\.token) == [Self.service] && servers.map(\.address.host) == ["127.0.0.2"])
      }
      #expect(try Self.known(runtime, service, user: Self.otherUser + 1).isEmpty)
      #expect(try Self.known(runtime, "\(service)/absent", user: 0).isEmpty)
    }
  }

  @Test func `servers of the user come before those of the service, with addresses of their own`() throws {
    try Self.withFolders { runtime, service in
      try Self.write(Self.own, to: "\(runtime)/vidicon", "control-8080")
      try Self.write(Self.service, to: service, "control-8079", user: Self.otherUser)
      // One that would have the token of the other one sent elsewhere.
      try Self.write("http://127.0.0.2:8080\n", to: service, "address-8080", user: Self.otherUser)
      let user = getuid()
      try #require(user == 0 || user == Self.otherUser)
      let servers = try Self.known(runtime, service, user: user)
      #expect(servers.map(\.token) == [Self.service, Self.own])
      #expect(servers.map(\.address.port) == [8079, 8080] && servers.map(\.address.host) == [nil, nil])
    }
  }

  @Test func `the token of a configuration is that of the package's service alone`() throws {
    let token = "aaaabbbbccccdddd"
    try Self.withFolders { runtime, service in
      try Self.write(Self.own, to: "\(runtime)/vidicon", "control-8079")
      try Self.write(token, to: "\(runtime)/vidicon", "configuration-8079")
      try Self.write(Self.service, to: service, "control-8080", user: Self.otherUser)
      try Self.write(token, to: service, "configuration-8080", user: Self.otherUser)
      let servers = try Self.known(runtime, service, user: getuid())
      #expect(servers.map(\.address.port) == [8079, 8080] && servers.map(\.token) == [Self.own, Self.service])
      #expect(servers.map(\.configurationToken) == [nil, token])
      // The environment of the unit names the folder of the service's user.
      let environment = ["XDG_RUNTIME_DIR": (service as NSString).deletingLastPathComponent, "XDG_STATE_HOME": runtime]
      let ofService = try RunningServer.known(
        environment: environment, user: 0, serviceFolder: service, isServiceOnly: true)
      #expect(ofService.map(\.address.port) == [8080] && ofService.map(\.configurationToken) == [token])
    }
  }

  @Test func `a service's folder that is a link, or that others can write to, is not read`() throws {
    try Self.withFolders { runtime, service in
      try Self.write(Self.service, to: service, "control-8080", user: Self.otherUser)
      let link = "\(runtime)/link"
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: service)
      #expect(try Self.known(runtime, link, user: 0).isEmpty)
      #expect(try Self.known(runtime, service, user: 0).count == 1)
      try #require(chmod(service, 0o770) == 0)
      #expect(try Self.known(runtime, service, user: 0).isEmpty)
    }
  }
}
