import Capture
import Media
import StreamControl
import Testing

@testable import CaptureDevices

@Suite("Microphone specification")
struct MicrophoneSpecificationTests {
  static let valid: [(String, MicrophoneSpecification)] = [
    ("mic:", .init()), ("mic:hw:1,0", .init(name: "hw:1,0")),
    ("mic:plughw:CARD=C920,DEV=0", .init(name: "plughw:CARD=C920,DEV=0")),
    ("mic:pulse", .init(name: "pulse")), ("mic:HD Pro Webcam C920", .init(name: "HD Pro Webcam C920")),
    ("mic:?rate=44100", .init(sampleRate: 44_100)), ("mic:?channels=1", .init(channelCount: 1)),
    ("mic:hw:1?rate=48000&channels=2", .init(name: "hw:1", sampleRate: 48_000, channelCount: 2)),
    ("mic:hw:1?channels=2&rate=8000", .init(name: "hw:1", sampleRate: 8_000, channelCount: 2)),
    ("mic:Ünïcode 麦克风", .init(name: "Ünïcode 麦克风")), ("mic:pulse:DEVICE=a.b-c", .init(name: "pulse:DEVICE=a.b-c")),
    ("mic:profile", .init(name: "profile")),
  ]

  @Test func `a valid specification is parsed and serialized`() throws {
    for (text, specification) in Self.valid {
      #expect(try MicrophoneSpecification(parsing: text) == specification)
      #expect(try MicrophoneSpecification(parsing: specification.description) == specification)
      #expect(try SourceSpecification.Audio(parsing: text) == .microphone(specification))
    }
  }

  static let invalid = [
    "", "mic", "Mic:", "mic:?", "mic:?rate", "mic:?rate=", "mic:?rate=0", "mic:?rate=7999", "mic:?rate=192001",
    "mic:?rate=-48000", "mic:?rate=+48000", "mic:?rate=48000.0", "mic:?rate=99999999999999999999999", "mic:?rate=٤٨٠٠٠",
    "mic:?channels=0", "mic:?channels=3", "mic:?channels=1&", "mic:?channels=1&channels=1", "mic:?rate=48000&gain=2",
    "mic:a?b", "mic:a\u{0}b", "mic:a\nb", "mic:" + String(repeating: "a", count: 257),
  ]

  @Test(arguments: invalid)
  func `an invalid specification is an error with a next step`(text: String) {
    let error = #expect(throws: VidiconError.self) { try MicrophoneSpecification(parsing: text) }
    #expect(error?.code == .invalidSpecification)
    #expect(error?.nextStep.isEmpty == false)
  }

  @Test(arguments: [
    "mic:file:/etc/passwd", "mic:tee:hw,/tmp/a", "mic:plug:file:/tmp/a", "mic:plug:SLAVE=file:/tmp/a",
    "mic:plug:SLAVE='tee:null,|reboot'", "mic:{ type file }", "mic:plug:TEE:null,x", "mic:x,SLAVE=file:a", "mic:a;b",
    "mic:a|b", "mic:$(x)", "mic:`x`", "mic:file:",
  ])
  func `names that would write a file or run a program are refused`(text: String) {
    let error = #expect(throws: VidiconError.self) { try MicrophoneSpecification(parsing: text) }
    #expect(error?.code == .invalidSpecification)
  }

  @Test func `PCM names of card devices are parsed and serialized`() {
    let cases: [(String, PCMName?, String?)] = [
      ("hw:1,0", PCMName(kind: "hw", card: .index(1), device: 0), "hw:1,0"),
      ("hw:2", PCMName(kind: "hw", card: .index(2), device: 0), "hw:2,0"),
      ("plughw:C920", PCMName(kind: "plughw", card: .id("C920"), device: 0), "plughw:CARD=C920,DEV=0"),
      ("plughw:CARD=C920,DEV=3", PCMName(kind: "plughw", card: .id("C920"), device: 3), "plughw:CARD=C920,DEV=3"),
      ("hw:DEV=1,CARD=0", PCMName(kind: "hw", card: .index(0), device: 1), "hw:0,1"),
      ("pulse", nil, nil), ("pulse:1", nil, nil), ("hw:", nil, nil), ("hw:1,-1", nil, nil), ("hw:1,x", nil, nil),
      ("", nil, nil), (":", nil, nil),
      (
        "hw:99999999999999999999",
        PCMName(
          kind: "hw", card: .id("99999999999999999999"), device: 0), "hw:CARD=99999999999999999999,DEV=0"
      ),
    ]
    for (text, name, serialized) in cases {
      #expect(PCMName(text) == name, "\(text)")
      #expect(PCMName(text)?.text == serialized)
    }
  }

  @Test func `sound cards are found by part of their names`() {
    let names = ["HDA Intel PCH (PCH)", "HD Pro Webcam C920 (C920)", "HD Pro Webcam C920 (C920_1)", "c920"]
    #expect(CardNames.indices(of: "intel", in: names) == [0])
    #expect(CardNames.indices(of: "WEBCAM", in: names) == [1, 2])
    #expect(CardNames.indices(of: "C920", in: names) == [3])
    #expect(CardNames.indices(of: "blue", in: names) == [])
    #expect(CardNames.indices(of: "", in: names) == [])
  }
}
