internal import Authentication
internal import Media
internal import MediaInput
internal import NIOCore
internal import RTMP
internal import Serving

/// Receiving a stream.
extension RTMPConnectionHandler {
  /// The stream that the client sends.
  struct Publication {
    let input: PublishedInput
    let id: PublisherSlot.ID
    var depacketizer = RTMPDepacketizer()

    init(input: PublishedInput, id: PublisherSlot.ID) {
      self.input = input
      self.id = id
    }
  }

  /// Passes a message of audio, video or metadata to the stream's input; a malformed one is counted and dropped.
  func publish(_ message: RTMPMessage) {
    guard let input = self.publication?.input, let id = self.publication?.id else { return }
    guard input.noteActivity(by: id) else { return self.endPublication(.alreadyPublished) }
    do throws(ParsingError) {
      // Unwrapped in place: a copy of the depacketizer would copy what it has.
      for output in try self.publication?.depacketizer.depacketize(message) ?? [] { self.take(output) }
    } catch {
      guard RTMPDepacketizer.isFatal(error) else { return self.countMalformed() }
      let refusal = VidiconError.unsupportedCodec(error.field)
      self.endPublication(.unsupported("\(refusal.cause): \(refusal.nextStep)"), error: refusal)
    }
  }

  private func take(_ output: RTMPDepacketizer.Output) {
    guard let publication else { return }
    let isAccepted =
      switch output {
      case .description(let description): publication.input.describe(description, by: publication.id)
      case .sample(let sample): publication.input.consume(sample, by: publication.id)
      case .unsupportedAudio(let codec):
        publication.input.reportUnsupported(codec, of: .audio, by: publication.id)
      case .missingKeyframe(let count):
        publication.input.reportMissingKeyframe(dropped: count, by: publication.id)
      }
    if !isAccepted { self.endPublication(.alreadyPublished) }
  }

  private func endPublication(_ refusal: RTMPRefusal, error: VidiconError? = nil) {
    self.stopPublishing(error: error)
    self.decided(refusal: refusal)
  }

  /// Ends the publication, upon which viewers see the slate.
  ///
  /// - Parameter error: The reason that the owner is to know; nil when the publisher has ended it.
  func stopPublishing(error: VidiconError? = nil) {
    guard let publication else { return }
    self.publication = nil
    publication.input.end(publication.id, error: error)
  }
}

extension RTMPRefusal {
  /// The refusal that follows from a decision; nil where the client may.
  init?(_ decision: AccessControl.Decision) {
    switch decision {
    case .allowed: return nil
    case .unauthorized, .forbidden: self = .unauthorized
    case .throttled: self = .throttled
    }
  }
}
