import Testing

@testable import MediaInput

@Suite("Succession of a file's streams")
struct StreamSuccessionTests {
  private typealias Stream = StreamSuccession.Stream

  private static func verdict(
    _ stream: Stream, _ current: Stream, hasPrograms: Bool = true
  ) -> StreamSuccession.Verdict {
    StreamSuccession.verdict(of: stream, besides: current, hasPrograms: hasPrograms)
  }

  @Test func `a stream of the program map replaces one that the map leaves out`() {
    let stream = Stream(isListed: true, goesOn: true)
    #expect(Self.verdict(stream, Stream(isListed: false, goesOn: false)) == .replaces)
    // The clip before comes again soon.
    #expect(Self.verdict(stream, Stream(isListed: false, goesOn: true)) == .replaces)
    // The first clip again, behind another one.
    let again = Stream(isListed: true, goesOn: true, hasEnded: true)
    #expect(Self.verdict(again, Stream(isListed: false, goesOn: false)) == .replaces)
  }

  @Test func `streams of one map are beside each other, unless one has ended`() {
    let stream = Stream(isListed: true, goesOn: true)
    #expect(Self.verdict(stream, Stream(isListed: true, goesOn: true)) == .isBeside)
    #expect(Self.verdict(stream, Stream(isListed: true, goesOn: false)) == .replaces)
  }

  @Test(arguments: [true, false]) func `packets of a stream that the map leaves out are dropped`(goesOn: Bool) {
    let rest = Stream(isListed: false, goesOn: goesOn, hasEnded: true)
    #expect(Self.verdict(rest, Stream(isListed: true, goesOn: false)) == .isLeftover)
    #expect(Self.verdict(rest, Stream(isListed: false, goesOn: false)) == .isLeftover)
  }

  @Test func `without program maps, a stream replaces one of which nothing follows`() {
    let stream = Stream(isListed: false, goesOn: true)
    #expect(Self.verdict(stream, Stream(isListed: false, goesOn: false), hasPrograms: false) == .replaces)
    #expect(Self.verdict(stream, Stream(isListed: false, goesOn: true), hasPrograms: false) == .isBeside)
    // A single packet at the end of the file, which a demuxer held back.
    let rest = Stream(isListed: false, goesOn: false, hasEnded: true)
    #expect(Self.verdict(rest, Stream(isListed: false, goesOn: false), hasPrograms: false) == .isLeftover)
    let short = Stream(isListed: false, goesOn: false)
    #expect(Self.verdict(short, Stream(isListed: false, goesOn: false), hasPrograms: false) == .replaces)
  }
}
