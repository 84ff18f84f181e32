internal import Media

/// Channels of an AAC stream whose `channelConfiguration` is 0, ISO/IEC 14496-3 §4.4.1.1 table 4.2: `program_config_element()`.
///
/// Encoders write it for layouts without a number of their own, such as FFmpeg's 5.1(side) and quad.
public struct ProgramConfigElement: Hashable, Sendable {
  /// A single channel or a pair of channels, with the number of its element in the frames.
  public struct Element: Hashable, Sendable {
    /// Whether it is a pair: `channel_pair_element()`.
    public var isPair: Bool
    /// `element_tag_select`, 0 to 15.
    public var tag: UInt8

    /// Creates an element; the tag is 0 to 15.
    public init(isPair: Bool, tag: UInt8) { (self.isPair, self.tag) = (isPair, tag) }
  }

  /// `element_instance_tag`, 0 to 15.
  public var instanceTag: UInt8
  /// Object type less one: 1 is AAC-LC.
  public var objectType: UInt8
  /// `sampling_frequency_index`, 0 to 15.
  public var samplingFrequencyIndex: UInt8
  /// Channels in front, at most 15 elements.
  public var front: [Element]
  /// Channels at the sides, at most 15 elements.
  public var side: [Element]
  /// Channels behind, at most 15 elements.
  public var back: [Element]
  /// Tags of channels for low frequencies, at most 3.
  public var lowFrequency: [UInt8]

  /// Number of channels; 0 to 93.
  public var channelCount: Int {
    (self.front + self.side + self.back).reduce(self.lowFrequency.count) { $0 + ($1.isPair ? 2 : 1) }
  }

  /// Reads an element within an `AudioSpecificConfig`. Data elements, coupling channels and hints for mixing down are skipped, and so
  /// is the comment.
  ///
  /// - Parameter start: Position of the configuration, in bits, at whose bytes the comment is aligned.
  /// - Throws: `.truncated`; `.invalid` without a channel.
  init(reading reader: inout BitReader, from start: Int) throws(ParsingError) {
    func bits(_ count: Int, _ name: String) throws(ParsingError) -> UInt8 { UInt8(try reader.bits(count, name)) }
    self.instanceTag = try bits(4, "element_instance_tag")
    self.objectType = try bits(2, "object_type")
    self.samplingFrequencyIndex = try bits(4, "sampling_frequency_index")
    let counts = (try bits(4, "num_front_channel_elements"), try bits(4, "num_side_channel_elements"))
    let backCount = try bits(4, "num_back_channel_elements")
    let lowFrequencyCount = try bits(2, "num_lfe_channel_elements")
    let dataCount = try bits(3, "num_assoc_data_elements")
    let couplingCount = try bits(4, "num_valid_cc_elements")
    if try reader.flag("mono_mixdown_present") { _ = try bits(4, "mono_mixdown_element_number") }
    if try reader.flag("stereo_mixdown_present") { _ = try bits(4, "stereo_mixdown_element_number") }
    if try reader.flag("matrix_mixdown_idx_present") { _ = try bits(3, "matrix_mixdown_idx") }
    func elements(_ count: UInt8) throws(ParsingError) -> [Element] {
      var elements: [Element] = []
      for _ in 0..<count {
        elements.append(Element(isPair: try reader.flag("element_is_cpe"), tag: try bits(4, "element_tag_select")))
      }
      return elements
    }
    self.front = try elements(counts.0)
    self.side = try elements(counts.1)
    self.back = try elements(backCount)
    self.lowFrequency = []
    for _ in 0..<lowFrequencyCount { self.lowFrequency.append(try bits(4, "lfe_element_tag_select")) }
    for _ in 0..<dataCount { _ = try bits(4, "assoc_data_element_tag_select") }
    for _ in 0..<couplingCount { _ = try bits(5, "cc_element") }
    _ = try reader.bits((8 - (reader.position - start) % 8) % 8, "byte_alignment")
    for _ in 0..<(try bits(8, "comment_field_bytes")) { _ = try bits(8, "comment_field_data") }
    guard self.channelCount > 0 else {
      throw ParsingError(.invalid, field: "program_config_element", offset: reader.offset)
    }
  }

  /// Writes the element without a comment.
  func write(to writer: inout BitWriter) {
    writer.write(UInt32(self.instanceTag), bits: 4)
    writer.write(UInt32(self.objectType), bits: 2)
    writer.write(UInt32(self.samplingFrequencyIndex), bits: 4)
    for elements in [self.front, self.side, self.back] { writer.write(UInt32(elements.count), bits: 4) }
    writer.write(UInt32(self.lowFrequency.count), bits: 2)
    // Neither data elements nor coupling channels nor hints for mixing down.
    writer.write(0, bits: 3 + 4 + 3)
    for element in self.front + self.side + self.back {
      writer.write(element.isPair ? 1 : 0, bits: 1)
      writer.write(UInt32(element.tag), bits: 4)
    }
    for tag in self.lowFrequency { writer.write(UInt32(tag), bits: 4) }
    writer.alignToByte()
    writer.write(0, bits: 8)
  }
}
