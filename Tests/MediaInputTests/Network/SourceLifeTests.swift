import Media
import Testing

@testable import MediaInput

@Suite("Signs of life of a source, and its rhythm")
struct SourceLifeTests {
  private static func at(_ seconds: Int64) -> MediaTime { .zero + .seconds(seconds) }

  @Test func `a connection without any sign of life is lost after 15 s, two requests having been in vain`() {
    var life = SourceLife(at: .zero)
    life.handleMedia(.video, at: Self.at(100))
    var requests: [MediaTime] = []
    while life.requestTime < life.lossTime {
      requests.append(life.requestTime)
      life.handleRequest(at: life.requestTime)
    }
    #expect(requests == [Self.at(105), Self.at(110)])
    #expect(life.requestTime == life.lossTime && life.lossTime == Self.at(115))
  }

  @Test func `signs of life keep a source without media for a minute`() {
    var life = SourceLife(at: .zero)
    life.handleMedia(.video, at: Self.at(100))
    for second in stride(from: Int64(110), through: 150, by: 10) {
      life.handleSign(at: Self.at(second))
      #expect(life.lossTime == Self.at(min(second + 15, 160)))
      #expect(life.requestTime == Self.at(second + 5))
    }
    #expect(life.mediaLossTime == Self.at(160))
  }

  @Test(arguments: [(5, 60), (14, 60), (20, 80), (50, 200), (75, 300), (200, 300)] as [(Int64, Int64)])
  func `a source is waited for by four of its pauses, within a minute and five`(pause: Int64, timeout: Int64) {
    var life = SourceLife(at: .zero)
    for count in Int64(1)...5 {
      // A frame has several packets.
      for _ in 0..<3 { life.handleMedia(.video, at: Self.at(count * pause)) }
      #expect(life.mediaTimeout == .seconds(count < 2 ? 60 : timeout), "\(count)")
    }
    #expect(life.mediaLossTime == Self.at(5 * pause + timeout))
  }

  @Test func `a single stall is no rhythm, and a rhythm that has ended is forgotten after five minutes`() {
    var life = SourceLife(at: .zero)
    for second in Int64(0)...100 { life.handleMedia(.video, at: Self.at(second)) }
    life.handleMedia(.video, at: Self.at(150))
    #expect(life.mediaTimeout == .seconds(60))
    life.handleMedia(.video, at: Self.at(200))
    #expect(life.mediaTimeout == .seconds(200))
    for second in Int64(201)...500 { life.handleMedia(.video, at: Self.at(second)) }
    #expect(life.mediaTimeout == .seconds(200))
    life.handleMedia(.video, at: Self.at(501))
    #expect(life.mediaTimeout == .seconds(60))
  }

  @Test func `a source whose audio has flowed up to the silence is lost after 15 s, unless its pauses are longer`() {
    var life = SourceLife(at: .zero)
    for second in Int64(1)...20 { life.handleMedia(second % 4 == 0 ? .video : .audio, at: Self.at(second)) }
    #expect(life.mediaLossTime == Self.at(20 + 15))
    // Its microphone is switched off.
    for second in Int64(21)...24 { life.handleMedia(.video, at: Self.at(second)) }
    #expect(life.mediaLossTime == Self.at(24 + 60))
    life.handleMedia(.audio, at: Self.at(24))
    #expect(life.mediaLossTime == Self.at(24 + 15))
    // A program that pauses for ten seconds again and again.
    for second in [Int64(34), 44] { life.handleMedia(.audio, at: Self.at(second)) }
    #expect(life.mediaLossTime == Self.at(44 + 40))
  }
}
