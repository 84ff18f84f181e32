internal import Media
internal import RTMP

/// Makes the messages of one connection from samples: configuration where it is due, silence where the stream has no audio.
/// Pure.
///
/// The first sample has timestamp 0. Earlier samples are left out: a negative timestamp would be one of 49 days.
struct RTMPPushMedia {
  private let bitrates: (video: Int?, audio: Int?)
  private var packetizer: RTMPPacketizer?
  private var silence: SilentAudio?
  /// Configurations to send before the next sample; nil while none are due.
  private var dueDescriptions: [CodecDescription]?

  /// - Parameter bitrates: Target bitrates in bits per second, for the metadata.
  init(bitrates: (video: Int?, audio: Int?)) {
    self.bitrates = bitrates
  }

  /// Sends configurations before the next sample.
  mutating func configure(_ descriptions: [CodecDescription]) {
    self.dueDescriptions = descriptions
  }

  /// The messages of a sample, with what precedes it.
  mutating func messages(for sample: EncodedSample) -> [RTMPMessage] {
    var messages: [RTMPMessage] = []
    if let descriptions = self.dueDescriptions {
      self.dueDescriptions = nil
      messages += self.configuration(descriptions, at: sample.decodeTime)
    }
    guard let packetizer, sample.decodeTime >= packetizer.epoch else { return messages }
    for silent in self.silence?.samples(before: sample.decodeTime) ?? [] {
      if let message = packetizer.packetize(silent) { messages.append(message) }
    }
    if let message = packetizer.packetize(sample) { messages.append(message) }
    return messages
  }

  private mutating func configuration(_ descriptions: [CodecDescription], at time: MediaTime) -> [RTMPMessage] {
    var descriptions = descriptions
    if descriptions.contains(where: { $0.kind == .audio }) {
      self.silence = nil
    } else {
      descriptions.append(.aac(SilentAudio.description))
      if self.silence == nil { self.silence = SilentAudio(start: time) }
    }
    var packetizer = self.packetizer ?? RTMPPacketizer(descriptions, epoch: time)
    packetizer.descriptions = descriptions
    self.packetizer = packetizer
    return packetizer.preamble(at: time, bitrates: self.bitrates, setsDataFrame: true)
  }
}
