import Media
import NIOCore
import Synchronization
import Testing

@testable import HTTPServer

@Suite("QR codes of texts that clients give")
struct QRCodesTests {
  private static func isImage(_ result: QRCodes.Result) -> Bool {
    if case .image = result { true } else { false }
  }

  private static func isOverLimit(_ result: QRCodes.Result) -> Bool {
    if case .overLimit = result { true } else { false }
  }

  private final class Calls: Sendable {
    let texts = Mutex<[String]>([])
  }

  @Test func `a code is made once, and a text that is too long is none`() throws {
    let calls = Calls()
    let codes = QRCodes { text in
      calls.texts.withLock { $0.append(text) }
      return text == "long" ? nil : "<svg>\(text)</svg>"
    }
    for _ in 0..<20 {
      guard case .image(let image) = codes.code(for: "a", network: "n", now: .zero) else {
        Issue.record("no image")
        return
      }
      #expect(String(buffer: image.bytes) == "<svg>a</svg>" && image.etag.count == 26)
    }
    guard case .textTooLong = codes.code(for: "long", network: "n", now: .zero) else {
      Issue.record("an image")
      return
    }
    #expect(calls.texts.withLock { $0 } == ["a", "long"])
  }

  @Test func `a network has four new codes a second, and all have sixteen`() {
    let codes = QRCodes { $0 }
    func count(_ network: String, at second: Int64) -> Int {
      (0..<50).count { number in
        Self.isImage(codes.code(for: "\(network) \(second) \(number)", network: network, now: .zero + .seconds(second)))
      }
    }
    #expect(count("a", at: 1) == 4)
    #expect(Self.isOverLimit(codes.code(for: "new", network: "a", now: .zero + .seconds(1))))
    // Those that were made are still shown, and other networks have theirs.
    #expect(Self.isImage(codes.code(for: "a 1 0", network: "a", now: .zero + .seconds(1))))
    #expect(["b", "c", "d", "e", "f"].map { count($0, at: 1) } == [4, 4, 4, 0, 0])
    #expect(count("a", at: 2) == 4)
  }

  @Test func `sixty-four codes are kept`() {
    let calls = Calls()
    let codes = QRCodes { text in
      calls.texts.withLock { $0.append(text) }
      return text
    }
    for second in 0..<65 { _ = codes.code(for: "\(second)", network: "a", now: .zero + .seconds(Int64(second))) }
    for text in ["1", "64", "0"] { _ = codes.code(for: text, network: "a", now: .zero + .seconds(100)) }
    #expect(calls.texts.withLock { $0.count } == 66)
  }
}
