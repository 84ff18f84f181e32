internal import Media

/// When the sample was taken that a sound device gives next.
enum PCMPosition {
  /// The age that is believed beyond that of the samples that wait: what sound servers and wireless links hold.
  static let latency = MediaDuration.seconds(2)
  /// How old a timestamp of the device is believed to be.
  static let age = MediaDuration.seconds(1)

  /// Puts together what the device tells, as far as it makes sense.
  ///
  /// - Parameters:
  ///   - stamp: When the device looked; believed when it lies in the last second.
  ///   - available: Samples that wait to be read.
  ///   - delay: The age of the next one in samples, which is more where the device has buffers of its own.
  ///   - sampleRate: Samples a second.
  ///   - now: The time of asking.
  static func time(
    stamp: MediaTime, available: Int, delay: Int, sampleRate: Int, now: MediaTime
  ) -> MediaTime {
    let isPlausible = stamp <= now && now - stamp <= Self.age
    let rate = Int32(clamping: max(sampleRate, 1))
    let waiting = MediaDuration.ticks(Int64(max(available, 0)), timescale: rate)
    let told = MediaDuration.ticks(Int64(delay), timescale: rate)
    let age = told >= waiting && told - waiting <= Self.latency ? told : waiting
    return (isPlausible ? stamp : now) - age
  }
}
