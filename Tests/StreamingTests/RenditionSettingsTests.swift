import Media
import Testing

@testable import Streaming

@Suite("Settings of renditions")
struct RenditionSettingsTests {
  private static let low = RenditionSettings(name: "low", width: 32, height: 24, bitrate: 100_000)

  @Test(arguments: [
    ("", 32, 24, 100_000), ("a b", 32, 24, 100_000), ("main", 32, 24, 100_000), ("WHEP", 32, 24, 100_000),
    ("whip", 32, 24, 100_000), ("publish", 32, 24, 100_000), ("ca", 32, 24, 100_000), ("a/b", 32, 24, 100_000),
    (String(repeating: "a", count: 33), 32, 24, 100_000), ("low", 33, 24, 100_000), ("low", 32, 25, 100_000),
    ("low", 0, 24, 100_000), ("low", 32, -2, 100_000), ("low", 32, 9000, 100_000), ("low", 32, 24, 0),
    ("low", 32, 24, 1 << 40),
  ])
  func `unusable settings have a problem`(name: String, width: Int, height: Int, bitrate: Int) throws {
    let settings = RenditionSettings(name: name, width: width, height: height, bitrate: bitrate)
    let problem = try #require(RenditionSettings.problem(with: [settings]))
    #expect(problem.code == .invalidSpecification)
    #expect(!problem.description.contains("\n"))
  }

  @Test func `equal names and too many renditions have a problem, usable settings have none`() {
    let names = (0..<20).map { RenditionSettings(name: "low\($0)", width: 32, height: 24, bitrate: 100_000) }
    #expect(RenditionSettings.problem(with: names) != nil)
    #expect(RenditionSettings.problem(with: Array(names.prefix(16))) == nil)
    #expect(RenditionSettings.problem(with: [Self.low, Self.low]) != nil)
  }

  @Test func `of renditions that a stream cannot have together each is left out with its own reason`() {
    let names = (0..<20).map { RenditionSettings(name: "r\($0)", width: 32, height: 24, bitrate: 100_000) }
    let odd = RenditionSettings(name: "odd", width: 33, height: 24, bitrate: 100_000)
    let (usable, problems) = RenditionSettings.usable(
      [Self.low, odd, RenditionSettings(name: "low", width: 32, height: 24, bitrate: 100_000, frameRate: 10)] + names,
      in: VideoFormat(width: 64, height: 48, frameRate: 30))
    #expect(usable == [Self.low] + names.prefix(15))
    #expect(problems.map(\.name) == ["odd", "low"] + names.dropFirst(15).map(\.name))
    #expect(problems.allSatisfy { $0.1.code == .invalidSpecification && !$0.1.description.contains("\n") })
    #expect(problems[0].1.description.contains("even") && problems[1].1.description.contains("has this name"))
    #expect(problems[2].1.description.contains("at most 16"))
    #expect(RenditionChoice.list([Self.low, odd]).paths(of: "a") == ["a/main", "a/low"])
  }

  @Test(arguments: [
    (1280, 720, 640, 360), (1920, 1080, 640, 360), (720, 1280, 360, 640), (960, 720, 480, 360), (3840, 1600, 864, 360),
  ])
  func `streams of 720p and more have a rendition of 360p`(width: Int, height: Int, lowWidth: Int, lowHeight: Int)
    throws
  {
    let format = VideoFormat(width: width, height: height, frameRate: 60)
    let settings = try #require(RenditionChoice.automatic.renditions(for: format).usable.first)
    #expect((settings.width, settings.height) == (lowWidth, lowHeight))
    #expect(settings.name == "low" && settings.frameRate == 30 && RenditionSettings.problem(with: [settings]) == nil)
    #expect(RenditionChoice.automatic.renditions(for: VideoFormat(width: 854, height: 480)).usable.isEmpty)
  }
}
