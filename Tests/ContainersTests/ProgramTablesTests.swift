import NIOCore
import Testing

@testable import Containers

@Suite("Program tables, ISO/IEC 13818-1 §2.4.4")
struct ProgramTablesTests {
  @Test func `the checksum is that of CRC-32 MPEG-2's check value`() {
    #expect(SectionCRC.checksum(Array("123456789".utf8)) == 0x0376_E6E7)
  }
}
