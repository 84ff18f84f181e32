import Capture
import CaptureDevices
import Media
import StreamControl
import Testing

@Suite("Screen specification")
struct ScreenSpecificationTests {
  @Test func `valid specifications are parsed and serialized`() throws {
    let cases: [(String, ScreenSpecification)] = [
      ("screen:", .init()), ("screen::0", .init(display: ":0")), ("screen::0.1", .init(display: ":0.1")),
      ("screen:host-1.example:0.1", .init(display: "host-1.example:0.1")),
      ("screen:unix/:7", .init(display: "unix/:7")), ("screen:[::1]:0", .init(display: "[::1]:0")),
      ("screen:?cursor=0", .init(showsCursor: false)), ("screen:?cursor=1", .init()),
      ("screen::99?region=0,10,640,360", .init(display: ":99", region: .init(x: 0, y: 10, width: 640, height: 360))),
      ("screen:?window=123", .init(window: 123)), ("screen:?window=0x1C00007", .init(window: 0x1C0_0007)),
      ("screen:?window=0XfF", .init(window: 255)), ("screen:?window=4294967295", .init(window: .max)),
      ("screen:?fps=15", .init(frameRate: FrameRate(15))),
      ("screen:?fps=29.97", .init(frameRate: FrameRate(30_000, over: 1001))),
      ("screen:?fps=30000/1001", .init(frameRate: FrameRate(30_000, over: 1_001))),
      (
        "screen::1?fps=5&cursor=0&window=7&region=1,2,3,4",
        .init(
          display: ":1", region: .init(x: 1, y: 2, width: 3, height: 4), window: 7, showsCursor: false,
          frameRate: FrameRate(5))
      ),
    ]
    for (text, specification) in cases {
      #expect(try ScreenSpecification(parsing: text) == specification, "\(text)")
      #expect(try SourceSpecification(video: text).video == .screen(specification))
      // The description in error messages is valid too.
      #expect(try ScreenSpecification(parsing: specification.description) == specification)
    }
  }

  @Test(arguments: [
    ("screen", "does not begin"), ("screen:0", "not an X display"), ("screen::", "not an X display"),
    ("screen::x", "not an X display"), ("screen::0.", "not an X display"), ("screen::0.1.2", "not an X display"),
    ("screen::-1", "not an X display"), ("screen::99999", "not an X display"), ("screen:a b:0", "not an X display"),
    ("screen:\u{1B}:0", "not an X display"), ("screen::0\n", "not an X display"), ("screen:ä:0", "not an X display"),
    ("screen::0?", "not an option"), ("screen::0?cursor", "not an option"), ("screen:?cursor=0&", "not an option"),
    ("screen:?cursor=2", "cursor=2 is neither"), ("screen:?cursor=", "cursor= is neither"),
    ("screen:?cursor=0&cursor=0", "given twice"), ("screen:?colour=1", "no option \"colour\""),
    ("screen:?region=1,2,3", "not a rectangle"), ("screen:?region=1,2,3,0", "not a rectangle"),
    ("screen:?region=1,2,3,4,5", "not a rectangle"), ("screen:?region=-1,2,3,4", "not a rectangle"),
    ("screen:?region=1,2,3,65536", "not a rectangle"), ("screen:?region=,,,", "not a rectangle"),
    ("screen:?region=99999999999999999999,0,1,1", "not a rectangle"), ("screen:?region=+1,2,3,4", "not a rectangle"),
    ("screen:?window=0", "not a window number"), ("screen:?window=0x", "not a window number"),
    ("screen:?window=0x100000000", "not a window number"), ("screen:?window=-5", "not a window number"),
    ("screen:?window=0x-5", "not a window number"), ("screen:?window=0x+5", "not a window number"),
    ("screen:?window=editor", "not a window number"), ("screen:?fps=0", "not a frame rate"),
    ("screen:?fps=241", "not a frame rate"), ("screen:?fps=1/2", "not a frame rate"),
    ("screen:?fps=30/", "not a frame rate"), ("screen:?fps=30/0", "not a frame rate"),
    ("screen:?fps=9223372036854775807/1", "not a frame rate"), ("screen:?fps=60/2/1", "not a frame rate"),
  ])
  func `the error names the invalid part and the next step`(text: String, cause: String) {
    let error = #expect(throws: VidiconError.self) { try ScreenSpecification(parsing: text) }
    #expect(error?.code == .invalidSpecification)
    #expect(error?.cause.contains(cause) == true, "\(error?.cause ?? "")")
    #expect(error?.nextStep.isEmpty == false)
  }

  @Test func `a text of any length is parsed quickly, and shortened in the error`() {
    for text in [
      "screen:" + String(repeating: "a", count: 1_000_000), "screen:?" + String(repeating: "&", count: 1_000_000),
      "screen:?region=" + String(repeating: ",", count: 1_000_000),
      "screen:?fps=" + String(repeating: "9", count: 1_000_000),
    ] {
      let error = #expect(throws: VidiconError.self) { try ScreenSpecification(parsing: text) }
      #expect((error?.description.utf8.count ?? .max) < 1_000)
    }
  }
}
