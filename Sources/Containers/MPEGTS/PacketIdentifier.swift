/// The packet identifiers (PID, 13 bits) that matter here, ISO/IEC 13818-1 table 2-3, and those that the muxer assigns.
enum PacketIdentifier {
  /// The program association table.
  static let programAssociation: UInt16 = 0x0000
  /// Assigned to the program map.
  static let programMap: UInt16 = 0x1000
  /// Assigned to the pictures.
  static let video: UInt16 = 0x0100
  /// Assigned to the sound.
  static let audio: UInt16 = 0x0101
  /// Assigned to what is told beside them.
  static let metadata: UInt16 = 0x0102
  /// Padding; as a program's clock PID it says that there is no clock.
  static let null: UInt16 = 0x1FFF
}
