import Media
import NIOCore
import Synchronization
import Testing
import Threading

@testable import ControlAPI

@Suite("QR codes of texts that clients give")
struct QRCodesTests {
  private static func isImage(_ attempt: QRCodes.Attempt) -> Bool {
    if case .done(.image) = attempt { true } else { false }
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
      guard case .done(.image(let image)) = codes.attempt("a", network: "n", now: .zero) else {
        Issue.record("no image")
        return
      }
      #expect(String(buffer: image.bytes) == "<svg>a</svg>" && image.etag.count == 26)
    }
    guard case .done(.textTooLong) = codes.attempt("long", network: "n", now: .zero) else {
      Issue.record("an image")
      return
    }
    #expect(calls.texts.withLock { $0 } == ["a", "long"])
  }

  @Test func `a network has four new codes a second, and all have sixteen`() {
    let codes = QRCodes { $0 }
    func count(_ network: String, at second: Int64) -> Int {
      (0..<50).count { number in
        Self.isImage(codes.attempt("\(network) \(second) \(number)", network: network, now: .zero + .seconds(second)))
      }
    }
    #expect(count("a", at: 1) == 4)
    guard case .wait(let time) = codes.attempt("new", network: "a", now: .zero + .milliseconds(1_300)) else {
      Issue.record("a fifth code")
      return
    }
    #expect(time == .zero + .seconds(2))
    // Codes that were made are still shown, and other networks have theirs.
    #expect(Self.isImage(codes.attempt("a 1 0", network: "a", now: .zero + .seconds(1))))
    #expect(["b", "c", "d", "e", "f"].map { count($0, at: 1) } == [4, 4, 4, 0, 0])
    #expect(count("a", at: 2) == 4)
  }

  @Test func `sixty-four codes are kept`() {
    let calls = Calls()
    let codes = QRCodes { text in
      calls.texts.withLock { $0.append(text) }
      return text
    }
    for second in 0..<65 { _ = codes.attempt("\(second)", network: "a", now: .zero + .seconds(Int64(second))) }
    for text in ["1", "64", "0"] { _ = codes.attempt(text, network: "a", now: .zero + .seconds(100)) }
    #expect(calls.texts.withLock { $0.count } == 66)
  }

  @Test func `eight requests of a network wait, and thirty-two of all`() {
    let codes = QRCodes { $0 }
    #expect((0..<9).map { _ in codes.beginWaiting("a") }.count { $0 } == 8)
    codes.endWaiting("a")
    #expect(codes.beginWaiting("a"))
    #expect(
      ["b", "c", "d", "e"].map { network in (0..<9).count { _ in codes.beginWaiting(network) } } == [8, 8, 8, 0])
  }

  @Test func `requests beyond the rate wait for the next second`() async {
    let codes = QRCodes { $0 }
    let images = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<10 {
        group.addTask {
          if case .image = await codes.code(for: "\(number)", network: "a", clock: .system) { true } else { false }
        }
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(images == 10)
  }
}
