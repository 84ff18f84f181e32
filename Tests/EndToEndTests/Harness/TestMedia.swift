import Foundation

/// Files that the tests play.
enum TestMedia {
  /// The top of the checkout.
  static let checkout = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// A real video with sound: 1280×720, 25 pictures a second, H.264, AAC 5.1 at 48 kHz, 5.3 s.
  static func video() throws -> String {
    try self.file("bigbuckbunny.mp4")
  }

  /// A file that scripts/setup has fetched.
  static func file(_ name: String) throws -> String {
    let path = self.checkout.appendingPathComponent(".build-media/\(name)").path
    guard FileManager.default.fileExists(atPath: path) else { throw Tool.Missing(name: path) }
    return path
  }

  /// A script that drives a client.
  static func client(_ name: String) -> String {
    self.checkout.appendingPathComponent("Tests/EndToEndTests/Clients/\(name)").path
  }

  /// Runs a test with a folder of its own, which is removed after it.
  static func withTemporaryFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("vidicon-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }  // What stays behind there harms nobody.
    return try await body(folder.path)
  }
}
