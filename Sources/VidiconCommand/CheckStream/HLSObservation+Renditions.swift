import HLS

/// Findings about what segments need beside themselves: keys, and a rendition with the audio.
extension HLSObservation {
  /// Length of a key of AES-128 in bytes, RFC 8216 §4.3.2.4.
  private static let keyLength = 16

  var keyFindings: [StreamFinding] {
    if let key = self.keys.first(where: { !$0.isDelivered }) {
      return [Self.keyFault("the key \(key.name): \(Self.reason(key)), without which no segment is decrypted")]
    }
    // One that the end of the check cuts off is not judged.
    if let key = self.keys.first(where: { $0.ending != .cutOff && $0.byteCount != Self.keyLength }) {
      return [
        Self.keyFault(
          "the key \(key.name) has \(key.byteCount) bytes in place of \(Self.keyLength) (RFC 8216 §4.3.2.4)")
      ]
    }
    if let key = self.keys.first { return [StreamFinding(.video, .ok("keys", "\(key.name) is delivered"))] }
    let isLicensed = self.media?.availableSegments.last?.isEncrypted == true
    guard isLicensed else { return [] }
    return [StreamFinding(.video, .ok("keys", "those of the last segment are not requested, and not judged"))]
  }

  private static func keyFault(_ meaning: String) -> StreamFinding {
    StreamFinding(
      .video,
      .fault("keys", meaning, .advice("check the path of the key, the rights to it, and the server of keys")),
      blocks: [.players, .safari, .browsers])
  }

  var audioFindings: [StreamFinding] {
    guard let audio else { return [] }
    let subject = "audio \(audio.name)"
    let problem: String? =
      if let missing = audio.resources.first(where: { !$0.isDelivered }) {
        "\(missing.name): \(Self.reason(missing))"
      } else if !audio.hasSegments {
        "its playlist \(audio.playlist.name) has no segments"
      } else {
        nil
      }
    guard let cause = problem else {
      return [StreamFinding(.audio, .ok(subject, "its playlist and last segment are delivered"))]
    }
    // Players made of ffmpeg leave it out.
    return [
      StreamFinding(
        .audio,
        .warning(
          subject, "\(cause), and browsers wait for it",
          .advice("check the source of the audio, or leave its group out")),
        blocks: [.safari, .browsers])
    ]
  }

  /// The reason for there being no resource, in words.
  private static func reason(_ resource: Resource) -> String {
    switch resource.status {
    case 404?: "the server does not have it (404)"
    case 401?, 403?: "the server denies access (\(resource.status ?? 403))"
    case let status?: "the server responds with \(status)"
    case nil: (resource.failure ?? .noResponse).cause.meaning
    }
  }
}
