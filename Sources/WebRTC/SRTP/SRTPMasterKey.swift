/// Master key and salt of one direction, RFC 3711 §3.2.1.
package struct SRTPMasterKey: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  /// 16 bytes.
  let key: [UInt8]
  /// 12 bytes with GCM, else 14.
  let salt: [UInt8]

  /// A key with its salt, of the lengths of their profile.
  package init(key: [UInt8], salt: [UInt8]) {
    self.key = key
    self.salt = salt
  }

  /// Splits what DTLS exports: client's key, server's key, client's salt, server's salt, RFC 5764 §4.2.
  ///
  /// - Returns: nil when the length is not that of the profile.
  package static func pair(
    exported bytes: [UInt8], profile: SRTPProfile
  ) -> (client: SRTPMasterKey, server: SRTPMasterKey)? {
    guard bytes.count == profile.exportedLength else { return nil }
    let salts = bytes[(2 * SRTPProfile.keyLength)...]
    return (
      SRTPMasterKey(key: Array(bytes[..<SRTPProfile.keyLength]), salt: Array(salts.prefix(profile.saltLength))),
      SRTPMasterKey(
        key: Array(bytes[SRTPProfile.keyLength..<2 * SRTPProfile.keyLength]),
        salt: Array(salts.suffix(profile.saltLength)))
    )
  }

  /// Nothing of the key.
  package var description: String { "SRTPMasterKey" }

  /// Nothing of the key.
  package var customMirror: Mirror { Mirror(self, children: []) }
}
