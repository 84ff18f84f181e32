internal import Authentication
internal import Media
internal import MediaInput
internal import NIOCore
internal import RTMP
internal import Serving

/// Receiving a stream.
extension RTMPConnectionHandler {
  /// Passes a message of audio, video or metadata to the stream's input; a malformed one is counted and dropped.
  func publish(_ message: RTMPMessage) {
    guard let publication else { return }
    guard publication.noteActivity() else { return self.endPublication(.alreadyPublished) }
    do throws(ParsingError) {
      for output in try self.depacketizer.depacketize(message) { self.take(output) }
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
      case .description(let description): publication.describe(description)
      case .sample(let sample): publication.consume(sample)
      case .unsupported(let kind, let codec): publication.reportUnsupported(codec, of: kind)
      case .missingKeyframe(let count): publication.reportMissingKeyframe(dropped: count)
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
    self.publication?.end(error: error)
    self.publication = nil
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
