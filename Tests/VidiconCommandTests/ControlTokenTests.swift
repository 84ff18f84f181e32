import Authentication
import Foundation
import Media
import Testing

@testable import VidiconCommand

@Suite("Control token on the disk")
struct ControlTokenTests {
  private static let secret = Secret("0123456789abcdef")

  /// The mode of a file in octal digits, and whether it is a link.
  private static func mode(_ path: String) throws -> String {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    let mode = try #require(attributes[.posixPermissions] as? Int)
    return String(mode, radix: 8) + (attributes[.type] as? FileAttributeType == .typeSymbolicLink ? " link" : "")
  }

  /// A runtime folder of its own for the duration of `body`.
  private static func withFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
  }

  private static func write(to folder: String, user: uid_t = getuid()) -> ControlToken {
    ControlToken(Self.secret, port: 8080, environment: ["XDG_RUNTIME_DIR": folder], user: user)
  }

  @Test(arguments: [nil, 0o700, 0o755, 0o711] as [Int?])
  func `folder and file are their user's only, also in a folder that others could read`(mode: Int?) throws {
    try Self.withFolder { folder in
      if let mode {
        try FileManager.default.createDirectory(atPath: "\(folder)/vidicon", withIntermediateDirectories: false)
        try #require(chmod("\(folder)/vidicon", mode_t(mode)) == 0)
      }
      let token = Self.write(to: folder)
      #expect(token.path == "\(folder)/vidicon/control-8080")
      #expect(try Self.mode("\(folder)/vidicon") == "700")
      #expect(try Self.mode("\(folder)/vidicon/control-8080") == "600")
      #expect(try String(contentsOfFile: "\(folder)/vidicon/control-8080", encoding: .utf8) == Self.secret.text)
      let found = try ControlToken.find(in: ["\(folder)/vidicon"], of: getuid())
      #expect(found == [8080: Self.secret.text])
      token.remove()
      #expect(!FileManager.default.fileExists(atPath: "\(folder)/vidicon/control-8080"))
    }
  }

  @Test func `the token of a configuration is in a file of its own`() throws {
    try Self.withFolder { folder in
      let control = Self.write(to: folder)
      let configuration = ControlToken(
        Secret("fedcba9876543210"), for: .configuration, port: 8080, environment: ["XDG_RUNTIME_DIR": folder])
      #expect(configuration.path == "\(folder)/vidicon/configuration-8080")
      // A closure whose only `try` is in a macro throws nothing for the compiler.
      let mode = try Self.mode("\(folder)/vidicon/configuration-8080")
      #expect(mode == "600")
      let folders = ["\(folder)/vidicon"]
      #expect(try ControlToken.find(in: folders, of: getuid()) == [8080: Self.secret.text])
      #expect(try ControlToken.find(.configuration, in: folders, of: getuid()) == [8080: "fedcba9876543210"])
      configuration.remove()
      #expect(try ControlToken.find(.configuration, in: folders, of: getuid()) == [:])
      #expect(control.path.map { FileManager.default.fileExists(atPath: $0) } == true)
    }
  }

  @Test func `the runtime folder may be a link, as systemd makes for a dynamic user`() throws {
    try Self.withFolder { folder in
      try FileManager.default.createDirectory(atPath: "\(folder)/private", withIntermediateDirectories: false)
      try FileManager.default.createSymbolicLink(atPath: "\(folder)/link", withDestinationPath: "private")
      let token = Self.write(to: "\(folder)/link")
      #expect(token.path == "\(folder)/link/vidicon/control-8080")
      #expect(try Self.mode("\(folder)/private/vidicon/control-8080") == "600")
      #expect(try ControlToken.find(in: ["\(folder)/link/vidicon"], of: getuid()) == [8080: Self.secret.text])
    }
  }

  @Test(arguments: [0o770, 0o707, 0o777])
  func `nothing is written to a folder that others can write to`(mode: Int) throws {
    try Self.withFolder { folder in
      try FileManager.default.createDirectory(atPath: "\(folder)/vidicon", withIntermediateDirectories: false)
      try #require(chmod("\(folder)/vidicon", mode_t(mode)) == 0)
      #expect(Self.write(to: folder).path == nil)
      #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder)/vidicon") == [])
    }
  }

  @Test func `nothing is written to a link, nor to the folder of another user`() throws {
    try Self.withFolder { folder in
      try FileManager.default.createDirectory(atPath: "\(folder)/elsewhere", withIntermediateDirectories: false)
      try FileManager.default.createSymbolicLink(
        atPath: "\(folder)/vidicon", withDestinationPath: "\(folder)/elsewhere")
      #expect(Self.write(to: folder).path == nil)
      try FileManager.default.removeItem(atPath: "\(folder)/vidicon")
      #expect(Self.write(to: folder, user: getuid() + 1).path == nil)
      for name in ["vidicon", "elsewhere"] {
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(name)") == [], "\(name)")
      }
    }
  }

  @Test func `a link in the place of the file is replaced, and one is not read`() throws {
    try Self.withFolder { folder in
      let path = "\(folder)/vidicon/control-8080"
      try FileManager.default.createDirectory(atPath: "\(folder)/vidicon", withIntermediateDirectories: false)
      try Self.secret.text.write(toFile: "\(folder)/target", atomically: true, encoding: .utf8)
      try #require(chmod("\(folder)/target", 0o600) == 0)
      try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "\(folder)/target")
      let environment = ["XDG_RUNTIME_DIR": folder, "HOME": folder]
      #expect(throws: VidiconError.self) { try ControlToken.find(in: ["\(folder)/vidicon"], of: getuid()) }
      let token = ControlToken(Secret("fedcba9876543210"), port: 8080, environment: environment)
      #expect(token.path == path)
      #expect(try Self.mode(path) == "600")
      #expect(try String(contentsOfFile: "\(folder)/target", encoding: .utf8) == Self.secret.text)
    }
  }
}
