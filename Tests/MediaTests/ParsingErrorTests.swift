import Media
import Testing

@Suite("Errors of parsers")
struct ParsingErrorTests {
  @Test(arguments: [
    (ParsingError(.truncated, field: "sps_id", offset: 4), "sps_id at byte 4: the data ends too early"),
    (ParsingError(.invalid, field: "size", offset: 0), "size at byte 0: the value is not allowed"),
    (ParsingError(.unsupported, field: "version", offset: 0), "version at byte 0: the value is not supported"),
    (ParsingError(.tooLarge, field: "trun", offset: 8), "trun at byte 8: it is larger than the limit"),
    (ParsingError(.missing, field: "moov"), "moov: it is missing"),
  ])
  func `the description names field, offset and cause in one line`(error: ParsingError, text: String) {

    #expect(error.description == text)
  }

  @Test func `errors at different offsets differ`() {
    #expect(ParsingError(.invalid, field: "size", offset: 0) == ParsingError(.invalid, field: "size", offset: 0))
    #expect(ParsingError(.invalid, field: "size", offset: 0) != ParsingError(.invalid, field: "size", offset: 8))
    #expect(ParsingError(.invalid, field: "size", offset: 0) != ParsingError(.invalid, field: "size"))
  }
}
