package import Media

/// `profile-level-id` of H.264 by its meaning, RFC 6184 §8.1 and table 5.
package struct H264ProfileLevel: Hashable, Sendable {
  /// A profile, whichever way it is written.
  package enum Profile: Hashable, Sendable, CaseIterable {
    case constrainedBaseline
    case baseline
    case extended
    case main
    case constrainedHigh
    case high

    /// Profiles whose decoders decode this one, itself first, then the nearest.
    fileprivate var decodableBy: [Profile] {
      switch self {
      case .constrainedBaseline: [.constrainedBaseline, .baseline, .main, .constrainedHigh, .high, .extended]
      case .baseline: [.baseline, .extended]
      case .extended: [.extended]
      case .main: [.main, .high]
      case .constrainedHigh: [.constrainedHigh, .high]
      case .high: [.high]
      }
    }
  }

  /// `profile_idc`, 66 for Baseline, 77 for Main, 100 for High.
  package var profileIDC: UInt8
  /// `profile-iop`: the constraint flags.
  package var constraintFlags: UInt8
  /// `level_idc`: level × 10.
  package var levelIDC: UInt8

  /// Creates it from the three bytes behind the header of a sequence parameter set.
  package init(profileIDC: UInt8, constraintFlags: UInt8, levelIDC: UInt8) {
    self.profileIDC = profileIDC
    self.constraintFlags = constraintFlags
    self.levelIDC = levelIDC
  }

  /// Default of a format without the parameter: Baseline at level 1.
  package static let `default` = Self(profileIDC: 0x42, constraintFlags: 0, levelIDC: 10)

  /// Constrained Baseline at level 3.1, which RFC 7742 §6.2 requires of every browser.
  package static let constrainedBaseline = Self(profileIDC: 0x42, constraintFlags: 0xE0, levelIDC: 31)

  /// Parses six hexadecimal digits.
  package init(parsing text: String) throws(ParsingError) {
    guard let bytes = Hexadecimal.decode(text), bytes.count == 3 else {
      throw ParsingError(.invalid, field: "profile-level-id")
    }
    self.init(profileIDC: bytes[0], constraintFlags: bytes[1], levelIDC: bytes[2])
  }

  /// Six hexadecimal digits, in lower case.
  package var text: String {
    Hexadecimal.encode([self.profileIDC, self.constraintFlags, self.levelIDC])
  }

  /// The profile; nil for one that is not in table 5, as those of 4:2:2.
  package var profile: Profile? {
    let flags = self.constraintFlags
    switch self.profileIDC {
    case 0x42: return flags & 0x40 != 0 ? .constrainedBaseline : .baseline
    case 0x4D: return flags & 0x80 != 0 ? .constrainedBaseline : .main
    case 0x58: return flags & 0xC0 == 0xC0 ? .constrainedBaseline : flags & 0x80 != 0 ? .baseline : .extended
    case 0x64: return flags & 0x0C == 0x0C ? .constrainedHigh : .high
    default: return nil
    }
  }

  /// Rank of a decoder of this profile for a stream: 0 is best; nil when it does not decode it. The level is not compared.
  package func rank(for stream: H264ProfileLevel) -> Int? {
    guard let own = self.profile, let other = stream.profile else { return nil }
    return other.decodableBy.firstIndex(of: own)
  }
}
