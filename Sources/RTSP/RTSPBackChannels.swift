internal import RTP

/// Audio of a session description that the server receives: the loudspeaker of a camera, ONVIF Streaming Specification §5.3. Pure.
///
/// Such a description has the directions that the client sees, `a=sendonly` for what it may send and `a=recvonly` for what it receives.
/// RFC 8866 §6.7 has those that the author sees. Servers that follow it call their video `sendonly`, and have no back channels here.
package struct RTSPBackChannels: Hashable, Sendable {
  /// Their places among the video and audio of the description, from 0.
  package private(set) var indices: Set<Int> = []
  /// Whether the description has them and no other audio.
  package private(set) var areAllAudio = false

  /// None.
  package init() {}

  /// Back channels of a description.
  init(_ description: SessionDescription) {
    let media = Self.tracks(of: description)
    func isSendOnly(_ media: MediaDescription) -> Bool {
      (media.attributes.direction ?? description.attributes.direction) == .sendOnly
    }
    let video = media.filter { $0.media == "video" }
    let isAuthorsView = (video.isEmpty ? media : video).allSatisfy(isSendOnly)
    guard !isAuthorsView else { return }
    let audio = media.indices.filter { media[$0].media == "audio" }
    self.indices = Set(audio.filter { isSendOnly(media[$0]) })
    self.areAllAudio = !self.indices.isEmpty && self.indices.count == audio.count
  }

  /// Video and audio of a description without the back channels.
  func received(of description: SessionDescription) -> [MediaDescription] {
    Self.tracks(of: description).enumerated().filter { !self.indices.contains($0.offset) }.map(\.element)
  }

  private static func tracks(of description: SessionDescription) -> [MediaDescription] {
    description.media.filter { $0.media == "video" || $0.media == "audio" }
  }
}
