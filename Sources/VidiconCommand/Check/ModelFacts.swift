import Effects
import Media

/// Facts about the models that find faces, and whether a stream needs them.
struct ModelFacts: Sendable {
  /// Folder of the models.
  var folder: String
  /// Errors of models that cannot be used.
  var failures: [VidiconError] = []
  /// Number of models that the program uses.
  var count: Int
  /// Streams that find faces.
  var streams: [String] = []

  /// One finding.
  var findings: [CheckFinding] {
    let subject = "face models"
    guard let failure = self.failures.first else { return [.ok(subject, "all \(self.count) in \(self.folder)")] }
    if let stream = self.streams.first {
      return [
        CheckFinding(
          subject: subject, verdict: .fault,
          meaning: "\(failure.subject): \(failure.cause), and the stream \(stream) finds faces",
          remedy: CheckFinding.Remedy(nextStep: failure.nextStep))
      ]
    }
    if self.failures.count == self.count, self.failures.allSatisfy({ $0.code == .notFound }) {
      return [.ok(subject, "not installed, and no stream needs them")]
    }
    return [
      CheckFinding(
        subject: subject, verdict: .warning, meaning: "\(failure.subject): \(failure.cause)",
        remedy: CheckFinding.Remedy(nextStep: failure.nextStep))
    ]
  }
}

extension ModelFacts {
  /// Reads each model and compares its checksum, as a stream does.
  init(_ configuration: ServeConfiguration) {
    self.init(FaceModels(), streams: configuration.streams.filter(\.effects.needsFaces).map(\.name))
  }

  /// Reads the models of a folder.
  init(_ models: FaceModels, streams: [String]) {
    self.init(folder: models.folder, count: FaceModel.allCases.count, streams: streams)
    self.failures = FaceModel.allCases.compactMap { models.failure(of: $0) }
  }
}

extension EffectOptions {
  /// Whether the effects need the models.
  fileprivate var needsFaces: Bool { self.settings.needsFaces || self.snapshotFolder != nil }
}
