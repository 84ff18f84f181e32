import Effects
import Media

/// Facts about the models that find faces, and whether a stream needs them.
struct ModelFacts: Sendable {
  /// Folders of the models, as text.
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

  /// Reads models.
  init(_ models: FaceModels, streams: [String]) {
    var folders: [String] = []
    var failures: [VidiconError] = []
    for model in FaceModel.allCases {
      do throws(VidiconError) {
        let folder = try models.folder(of: model)
        if !folders.contains(folder) { folders.append(folder) }
      } catch {
        failures.append(error)
      }
    }
    self.init(
      folder: folders.joined(separator: " and "), failures: failures, count: FaceModel.allCases.count, streams: streams)
  }
}

extension EffectOptions {
  /// Whether the effects need the models.
  fileprivate var needsFaces: Bool { self.settings.needsFaces || self.snapshotFolder != nil }
}
