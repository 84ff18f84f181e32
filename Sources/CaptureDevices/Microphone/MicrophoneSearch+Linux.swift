#if canImport(CALSA)
internal import CALSA
internal import Glibc
internal import Media

/// Finds the PCM that a ``MicrophoneSpecification`` means and opens it.
struct MicrophoneSearch: Sendable {
  /// What is looked for.
  let specification: MicrophoneSpecification

  /// Opens it.
  ///
  /// - Parameters:
  ///   - stableName: What it was opened as before, to find the same device again; nil for the first time.
  /// - Throws: ``VidiconError``, with the names that there are when there is no such one.
  func open(stableName: String? = nil) throws(VidiconError) -> PCM {
    if let name = stableName ?? self.specification.name {
      do throws(PCMFailure) {
        return try self.open(name)
      } catch {
        guard error.isMissing, stableName == nil else { throw self.error(error) }
        return try self.open(self.card(named: name, error))
      }
    }
    var failure: PCMFailure?
    // What the system is set up for; where that is nothing, what there is.
    let names = ["default", "pulse", "pipewire"]
    for candidate in names + SoundCard.all().flatMap({ card in card.devices.map(card.pcm) }) {
      do throws(PCMFailure) {
        return try self.open(candidate)
      } catch {
        if failure == nil || failure?.isMissing == true { failure = error }
      }
    }
    guard let failure, !failure.isMissing, failure.number != ECONNREFUSED else { throw self.nothing }
    throw self.error(failure)
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
      throw self.error(error)
    }
  }

  /// The one card whose name holds a text; its first device that captures.
  private func card(named text: String, _ failure: PCMFailure) throws(VidiconError) -> (SoundCard, SoundCard.Device) {
    let cards = SoundCard.all()
    let names = cards.map { "\($0.name) (\($0.id))" }
    let found = CardNames.indices(of: text, in: names)
    if found.count == 1, let device = cards[found[0]].devices.first { return (cards[found[0]], device) }
    if SoundCard.areForbidden { throw .soundNotPermitted(source: self.source) }
    // A name of a PCM that is known has failed for a reason of its own.
    if failure.number == EINVAL, found.isEmpty { throw self.error(failure) }
    throw VidiconError(
      found.isEmpty ? .notFound : .invalidSpecification, subject: self.source,
      cause: found.isEmpty
        ? "there is no such microphone"
        : "more than one card has that in its name: \(found.map { names[$0] }.joined(separator: ", "))",
      nextStep: cards.isEmpty
        ? "plug it in; this machine has no sound card that captures now"
        : "use mic: or one of \(cards.map { "mic:\($0.id)" }.joined(separator: ", "))")
  }

  /// There is nothing that could be opened.
  private var nothing: VidiconError {
    if SoundCard.areForbidden { return .soundNotPermitted(source: self.source) }
    return VidiconError(
      .notFound, subject: self.source, cause: "there is no microphone: no sound card captures, no sound server answers",
      nextStep: "plug one in, or start PipeWire or PulseAudio")
  }

  /// An error for the user.
  func error(_ failure: PCMFailure) -> VidiconError {
    VidiconError(failure, source: self.source)
  }

  private var source: String {
    self.specification.description
  }
}
#endif
