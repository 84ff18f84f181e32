import Foundation
import TestSupport
import Testing

/// Prints a figure that the running test judges, for the table of docs/testing.md, in runs that judge timing.
///
/// - Parameters:
///   - name: Name of the figure with its unit.
///   - limit: The bound that the test demands: an upper one, unless it is negative, which is a lower one.
func report(_ name: String, _ value: Double, limit: Double) {
  guard judgesTiming else { return }
  func text(_ number: Double) -> String {
    number.formatted(.number.precision(.significantDigits(1...4)).grouping(.never))
  }
  let bound = limit < 0 ? "≥ \(text(-limit))" : "≤ \(text(limit))"
  print("figure: | \(Test.current?.displayName ?? Test.current?.name ?? "") | \(name) | \(text(value)) | \(bound) |")
}

/// A duration in seconds.
func inSeconds(_ duration: Duration) -> Double { duration / .seconds(1) }
