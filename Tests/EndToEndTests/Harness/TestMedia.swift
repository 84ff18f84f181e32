import Foundation

/// Files used by the tests.
enum TestMedia {
  /// Root of the checkout.
  static let checkout = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// A real video with audio: 1280×720, 25 frames per second, H.264, AAC 5.1 at 48 kHz, 5.3 s.
  static func video() throws -> String {
    try self.file("bigbuckbunny.mp4")
  }

  /// Path of a file fetched by scripts/setup --tests.
  static func file(_ name: String) throws -> String {
    let path = self.checkout.appendingPathComponent(".build-media/\(name)").path
    guard FileManager.default.fileExists(atPath: path) else { throw Tool.Missing(name: path) }
    return path
  }

  /// The folder of the face models.
  static var modelFolder: String {
    let variables = ProcessInfo.processInfo.environment
    let data = variables["XDG_DATA_HOME"] ?? "\(NSHomeDirectory())/.local/share"
    return variables["VIDICON_MODELS"] ?? "\(data)/vidicon/models"
  }

  /// Path of a script in Clients.
  static func client(_ name: String) -> String {
    self.checkout.appendingPathComponent("Tests/EndToEndTests/Clients/\(name)").path
  }

  /// Creates a temporary folder for the duration of `body`.
  static func withTemporaryFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("vidicon-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }  // A leftover temporary folder is harmless.
    return try await body(folder.path)
  }
}
