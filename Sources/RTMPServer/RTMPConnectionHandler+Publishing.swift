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
    var (contents, failure): ([ReceivedMedia], VidiconError?) = ([], nil)
    do throws(ParsingError) {
      contents = try self.depacketizer.depacketize(message)
    } catch {
      if RTMPDepacketizer.isFatal(error) { failure = .unsupportedCodec(error.field) } else { self.countMalformed() }
    }
    guard publication.receive(contents) else { return self.endPublication(.alreadyPublished) }
    if let failure { self.endPublication(.unsupported("\(failure.cause): \(failure.nextStep)"), error: failure) }
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
