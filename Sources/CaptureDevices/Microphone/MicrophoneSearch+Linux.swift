#if canImport(CALSA)
internal import CALSA
internal import Capture
internal import Libc
internal import Media

/// Resolves a ``MicrophoneSpecification`` to a PCM and opens it.
struct MicrophoneSearch: Sendable {
  /// The specification to resolve.
  let specification: MicrophoneSpecification

  /// Opens the microphone.
  ///
  /// - Parameter stableName: ``PCM/stableName`` of the lost device, to find the same one again; nil for the first time.
  /// - Throws: ``VidiconError``, with the existing names when there is no such microphone.
  func open(stableName: String? = nil) throws(VidiconError) -> PCM {
    if let name = stableName ?? self.specification.name {
      do throws(PCMFailure) {
        return try self.open(name)
      } catch {
        guard error.isMissing, stableName == nil else { throw self.vidiconError(error) }
        return try self.open(self.card(named: name, error))
      }
    }
    var failure: PCMFailure?
    // The system's default; without one, the sound servers and then each card.
    let names = ["default", "pulse", "pipewire"]
    for candidate in names + SoundCard.all().flatMap({ card in card.devices.map(card.pcm) }) {
      do throws(PCMFailure) {
        return try self.open(candidate)
      } catch {
        if failure == nil || failure?.isMissing == true { failure = error }
      }
    }
    guard let failure, !failure.isMissing, failure.number != ECONNREFUSED else { throw self.noMicrophone }
    throw self.vidiconError(failure)
  }

  private func open(_ name: String) throws(PCMFailure) -> PCM {
    try PCM(
      opening: name,
      near: AudioFormat(
        sampleRate: self.specification.sampleRate ?? 48_000, channelCount: self.specification.channelCount ?? 2))
  }

  private func open(_ card: (SoundCard, SoundCard.Device)) throws(VidiconError) -> PCM {
    do throws(PCMFailure) {
      return try self.open(card.0.pcm(card.1))
    } catch {
      throw self.vidiconError(error)
    }
  }

  /// The only card whose name contains a text, and its first capture device.
  private func card(named text: String, _ failure: PCMFailure) throws(VidiconError) -> (SoundCard, SoundCard.Device) {
    let cards = SoundCard.all()
    let names = cards.map { "\($0.name) (\($0.id))" }
    let found = CardNames.indices(of: text, in: names)
    if found.count == 1, let device = cards[found[0]].devices.first { return (cards[found[0]], device) }
    if SoundCard.isAccessDenied { throw .audioNotPermitted(source: self.source) }
    // The name is that of a PCM that exists and failed for another reason.
    if failure.number == EINVAL, found.isEmpty { throw self.vidiconError(failure) }
    throw VidiconError(
      found.isEmpty ? .notFound : .invalidSpecification, subject: self.source,
      cause: found.isEmpty
        ? "there is no such microphone"
        : "several sound cards match: \(found.map { names[$0] }.joined(separator: ", "))",
      nextStep: cards.isEmpty
        ? "plug it in; no sound card with an input is connected"
        : "use mic: or one of \(cards.map { "mic:\($0.id)" }.joined(separator: ", "))")
  }

  /// No PCM can be opened.
  private var noMicrophone: VidiconError {
    if SoundCard.isAccessDenied { return .audioNotPermitted(source: self.source) }
    return VidiconError(
      .notFound, subject: self.source,
      cause: "there is no microphone: no sound card has an input, and no sound server responds",
      nextStep: "plug one in, or start PipeWire or PulseAudio")
  }

  /// Converts a failure to an error for the user.
  func vidiconError(_ failure: PCMFailure) -> VidiconError {
    VidiconError(failure, source: self.source)
  }

  private var source: String {
    self.specification.description
  }
}
#endif
