package import Media

extension DeviceControl {
  /// Whether it takes a value.
  ///
  /// - Throws: ``VidiconError`` that names the range, or the choices.
  package func check(_ value: Int, source: String) throws(VidiconError) {
    func error(_ cause: String, _ nextStep: String) -> VidiconError {
      VidiconError(.invalidSpecification, subject: source, cause: cause, nextStep: nextStep)
    }
    if self.isReadOnly { throw error("\(self.name) can only be read", "leave it out") }
    let wrong = "\(self.name) cannot be \(value)"
    switch self.kind {
    case .button: return
    case .boolean:
      if value != 0, value != 1 { throw error(wrong, "use 0 or 1") }
    case .menu:
      if !self.menu.contains(where: { $0.value == value }) {
        throw error(wrong, "use " + self.menu.map { "\($0.value) (\($0.label))" }.joined(separator: ", "))
      }
    case .integer:
      let (distance, overflow) = value.subtractingReportingOverflow(self.range.lowerBound)
      guard self.range.contains(value), overflow || distance % self.step == 0 else {
        let steps = self.step == 1 ? "" : " in steps of \(self.step)"
        throw error(wrong, "use \(self.range.lowerBound) to \(self.range.upperBound)\(steps)")
      }
    }
  }
}
