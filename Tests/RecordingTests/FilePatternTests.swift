import Foundation
import Media
import Testing

@testable import Recording

@Suite("File name patterns of recordings")
struct FilePatternTests {
  /// 2026-03-07 04:05:09 in the local time zone.
  private static let time: Int64 = {
    var time = tm()
    (time.tm_year, time.tm_mon, time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec) = (126, 2, 7, 4, 5, 9)
    return Int64(mktime(&time)) * 1_000_000_000
  }()

  @Test(arguments: [
    ("out.mp4", "out.mp4"), ("/a/b c/Größe.mp4", "/a/b c/Größe.mp4"), ("%Y%m%d-%H%M%S.mp4", "20260307-040509.mp4"),
    ("%y_%j_100%%.mp4", "26_066_100%.mp4"), ("r/%F/%H.mp4", "r/2026-03-07/04.mp4"), ("./x//y.mp4", "./x/y.mp4"),
  ])
  func `fields are replaced by the date and time`(text: String, expected: String) throws {
    #expect(try FilePattern(text).name(atUnixTime: Self.time).path == expected)
  }

  @Test(arguments: ["", "/", "a/", ".", "..", "a/..", "%Q.mp4", "out%", "a\0b.mp4"])
  func `an invalid pattern is refused in one line`(text: String) throws {
    let error = #expect(throws: VidiconError.self) { try FilePattern(text) }
    #expect(error?.code == .invalidSpecification)
    #expect(error?.description.contains("\n") == false)
  }

  @Test func `only folders with fields are created`() throws {
    let (folders, _) = try FilePattern("/rec/%Y/raw/%d/x.mp4").name(atUnixTime: Self.time)
    #expect(folders == ["/rec/2026", "/rec/2026/raw", "/rec/2026/raw/07"])
    #expect(try FilePattern("/rec/%Y/raw/%d/x.mp4").folder == "/rec")
    #expect(try FilePattern("/x.mp4").folder == "/")
    #expect(try FilePattern("x.mp4").folder == ".")
    #expect(try FilePattern("a/b/x%S.mp4").name(atUnixTime: Self.time).folders == [])
  }

  @Test func `numbers are inserted before the extension`() {
    #expect(FilePattern.numbered("/a.b/out.mp4", 2) == "/a.b/out-2.mp4")
    #expect(FilePattern.numbered("/a.b/out", 3) == "/a.b/out-3")
    #expect(FilePattern.numbered(".hidden", 4) == ".hidden-4")
  }

  @Test func `existing files that match a pattern are found, and no others`() async throws {
    try await withTemporaryFolder { folder in
      let pattern = try FilePattern("\(folder)/%F/cam_%H-%M.mp4")
      let days = ["2026-03-07", "2026-03-08", "x026-03-09", "2026-3-7"]
      let files = [
        "cam_04-05.mp4", "cam_04-05-2.mp4", "cam_04-05-31.mp4", "cam_04-05-1.mp4", "cam_04-05-02.mp4", "cam_4-05.mp4",
        "cam_04-05-1000000.mp4", "cam_04-05-999999999999999999.mp4", "cam_04-05-9223372036854775808.mp4",
        "cam_04-05.mp4.bak", "Cam_04-05.mp4", "cam_04-05-x.mp4", "other.mp4",
      ]
      for day in days {
        try FileManager.default.createDirectory(atPath: "\(folder)/\(day)", withIntermediateDirectories: false)
        for file in files { try Data().write(to: URL(filePath: "\(folder)/\(day)/\(file)")) }
      }
      var found: [String] = []
      pattern.forEach { found.append(String($0.dropFirst(folder.count + 1))) }
      #expect(
        found.sorted()
          == days.prefix(2).flatMap { day in
            [
              "cam_04-05-1000000.mp4", "cam_04-05-2.mp4", "cam_04-05-31.mp4", "cam_04-05-999999999999999999.mp4",
              "cam_04-05.mp4",
            ].map { "\(day)/\($0)" }
          })
    }
  }
}
