import Foundation

/// Whether tests judge figures that depend on how fast the machine is.
///
/// The long suite does, with `VIDICON_TEST_TIMING=1`; the gate does not, so that it passes beside other work.
package let judgesTiming = ProcessInfo.processInfo.environment["VIDICON_TEST_TIMING"] == "1"

/// Whether a condition on a figure that depends on how fast the machine is holds, or is not judged in this run: a duration, a
/// rate, a share of a core.
package func onQuietMachine(_ isMet: @autoclosure () throws -> Bool) rethrows -> Bool {
  try !judgesTiming || isMet()
}
