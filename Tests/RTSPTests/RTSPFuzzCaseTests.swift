import Foundation
import Testing

/// The fuzz target's body over its seeds and over what it has found: a failure traps.
@Suite("RTSP fuzz cases")
struct RTSPFuzzCaseTests {
  @Test(arguments: ["Seeds", "FailCases"])
  func `every stored input passes`(folder: String) throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../FuzzTesting/\(folder)/FuzzRTSP")
    let files = try FileManager.default.contentsOfDirectory(
      at: root, includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
    #expect(folder == "FailCases" || files.count >= 6)
    for file in files { RTSPFuzzCase(Array(try Data(contentsOf: file))).run() }
  }
}
