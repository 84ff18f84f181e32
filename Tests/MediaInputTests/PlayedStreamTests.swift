import Testing

@testable import MediaInput

@Suite("Streams of program maps that may replace the one that is played")
struct PlayedStreamTests {
  /// Stream 0, which a program listed and which packets came of, up to a place of the file.
  private static func played(in program: Int = 0, to position: Int64 = 1_000) -> PlayedStream {
    var played = PlayedStream(0)
    played.handle(packetOf: 0, at: position, listed: [0: [program], 1: [program], 8: [7]])
    return played
  }

  @Test func `a stream of the program map replaces one that the map leaves out`() {
    let listed: [Int: Set<Int>] = [2: [0], 3: [0]]
    for index in [2, 3] { #expect(Self.played().verdict(onPacketOf: index, listed: listed) == .replaces) }
  }

  @Test func `streams of one map are beside each other, however seldom packets come`() {
    let listed: [Int: Set<Int>] = [0: [0], 1: [0], 2: [0]]
    for index in [1, 2] { #expect(Self.played().verdict(onPacketOf: index, listed: listed) == .isBeside) }
    #expect(Self.played().successors(in: listed) == [])
  }

  @Test func `of a stream that the map leaves out, the packet alone is dropped: the next map may list it`() {
    for listed in [[:], [0: [0]], [1: [0]]] as [[Int: Set<Int>]] {
      #expect(Self.played().verdict(onPacketOf: 2, listed: listed) == .isRest)
    }
  }

  @Test func `streams of other programs replace it only where its own program has none left`() {
    for program in [0, 1] {
      let played = Self.played(in: program)
      // Its audio goes on, with another video and without.
      let audio: [Int: Set<Int>] = [1: [program], 8: [7], 9: [7]]
      let both = audio.merging([2: [program]]) { $1 }
      #expect(played.successors(in: both) == [1, 2] && played.successors(in: audio) == [1])
      #expect(played.verdict(onPacketOf: 2, listed: both) == .replaces)
      for listed in [audio, both] { #expect(played.verdict(onPacketOf: 8, listed: listed) == .isBeside) }
      let others: [Int: Set<Int>] = [8: [7], 9: [7]]
      #expect(played.successors(in: others) == [8, 9])
      #expect(played.verdict(onPacketOf: 8, listed: others) == .replaces)
    }
  }

  @Test func `the programs are those of the last map that has listed it`() {
    var played = Self.played(in: 0)
    played.handle(packetOf: 1, at: 1_188, listed: [0: [3]])
    played.handle(packetOf: 1, at: 1_376, listed: [1: [0]])
    #expect(played.successors(in: [2: [0], 4: [3]]) == [4])
    played.replace(by: 4, at: 1_564, listed: [2: [0], 4: [5]])
    #expect(played.index == 4 && played.successors(in: [2: [0], 6: [5]]) == [6])
  }

  @Test func `maps say nothing where none has listed the stream that is played`() {
    var played = PlayedStream(0)
    played.handle(packetOf: 0, at: 1_000, listed: [1: [0]])
    #expect(played.verdict(onPacketOf: 1, listed: [1: [0]]) == nil && played.successors(in: [1: [0]]) == [])
    // Nor where it has replaced one that was listed.
    var second = Self.played()
    second.replace(by: 2, at: 2_000, listed: [3: [0]])
    #expect(second.verdict(onPacketOf: 3, listed: [3: [0]]) == nil)
  }

  @Test func `packets that were held back lie before those that were played`() {
    #expect(PlayedStream(0).isBefore(-1) && PlayedStream(0).isBefore(0))
    var played = Self.played(to: 1_000)
    // Further frames of a packet, and those of other streams.
    played.handle(packetOf: 0, at: -1, listed: [:])
    played.handle(packetOf: 1, at: 9_000, listed: [:])
    #expect(!played.isBefore(-1) && !played.isBefore(999) && played.isBefore(1_000))
    played.replace(by: 2, at: 2_000, listed: [:])
    #expect(!played.isBefore(1_999) && played.isBefore(2_000))
  }
}
