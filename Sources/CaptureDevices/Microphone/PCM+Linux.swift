internal import Threading

#if canImport(CALSA)
internal import CALSA
internal import Glibc
internal import Media

/// A sound device of ALSA, open for capture. Used by one thread.
final class PCM {
  /// Samples and when they were taken.
  enum Reading {
    /// The sound, of the first two channels at most, and when its first sample was taken.
    case sound([Float], MediaTime)
    /// There is none yet.
    case nothing
    /// Some was lost, since nobody fetched it in time or the machine slept; the device runs again.
    case gap
  }

  /// What it was opened as.
  let name: String
  /// Its rate, and how many of its channels are kept: 1 or 2.
  let format: AudioFormat
  /// How its samples lie in memory.
  let encoding: PCMEncoding
  /// Samples of each channel that its buffer holds.
  let bufferSize: Int
  /// A name for the same device that holds when cards are numbered anew; nil where it has no card, or none that tells.
  let stableName: String?

  private let pcm: OpaquePointer
  private let status: OpaquePointer
  private let channelCount: Int
  private let memory: UnsafeMutableRawBufferPointer
  private let blockSize: Int

  /// Blocks of 10 ms: the sooner it comes, the less an encoder waits for it.
  private static let period: UInt32 = 10_000
  /// Room for half a second, in microseconds: a thread that is held up for less than that loses nothing.
  private static let buffer: UInt32 = 500_000

  /// Opens a device and settles its format, the nearest one to what is wanted. It does not run yet.
  ///
  /// May take seconds when the device is that of a sound server which does not answer.
  init(
    opening name: String, near wish: AudioFormat = AudioFormat(sampleRate: 48_000, channelCount: 2)
  ) throws(PCMFailure) {
    vidicon_alsa_silence()
    var handle: OpaquePointer?
    try PCMFailure.check(
      snd_pcm_open(&handle, name, SND_PCM_STREAM_CAPTURE, Int32(SND_PCM_NONBLOCK)), "opened", of: name)
    var status: OpaquePointer?
    snd_pcm_status_malloc(&status)
    guard let pcm = handle, let status else {
      if let handle { snd_pcm_close(handle) }
      throw PCMFailure(number: ENOMEM, action: "opened", name: name)
    }
    let settled: PCMSettings
    do throws(PCMFailure) {
      settled = try PCMSettings(negotiating: pcm, name: name, near: wish, period: Self.period, buffer: Self.buffer)
    } catch {
      snd_pcm_status_free(status)
      snd_pcm_close(pcm)
      throw error
    }
    self.pcm = pcm
    self.status = status
    self.name = name
    self.encoding = settled.encoding
    self.channelCount = settled.channelCount
    self.bufferSize = settled.bufferSize
    self.stableName = SoundCard.stableName(of: pcm, opened: name)
    self.format = AudioFormat(sampleRate: settled.sampleRate, channelCount: min(settled.channelCount, 2))
    self.blockSize = max(settled.sampleRate / 50, 1)
    self.memory = .allocate(
      byteCount: self.blockSize * settled.channelCount * settled.encoding.byteCount, alignment: 16)
    // ALSA's device `null` leaves it as it is.
    self.memory.initializeMemory(as: UInt8.self, repeating: 0)
  }

  deinit {
    snd_pcm_close(self.pcm)
    snd_pcm_status_free(self.status)
    self.memory.deallocate()
  }

  /// Lets it run.
  ///
  /// - Returns: The samples that it has at once: none, unless it has no clock.
  func start() throws(PCMFailure) -> Int {
    if snd_pcm_state(self.pcm) != SND_PCM_STATE_PREPARED {
      try PCMFailure.check(snd_pcm_prepare(self.pcm), "started", of: self.name)
    }
    if snd_pcm_state(self.pcm) != SND_PCM_STATE_RUNNING {
      try PCMFailure.check(snd_pcm_start(self.pcm), "started", of: self.name)
    }
    return max(0, Int(snd_pcm_avail_update(self.pcm)))
  }

  /// Waits for sound, a tenth of a second at most.
  ///
  /// ALSA's own `snd_pcm_wait` begins its time anew whenever a plug-in wakes it for nothing, some of which do so for
  /// ever. What happened to the device shows when it is read.
  func wait() throws(PCMFailure) {
    let count = try PCMFailure.check(snd_pcm_poll_descriptors_count(self.pcm), "read", of: self.name)
    withUnsafeTemporaryAllocation(of: pollfd.self, capacity: Int(count)) { descriptors in
      descriptors.initialize(repeating: pollfd())
      let used = snd_pcm_poll_descriptors(self.pcm, descriptors.baseAddress, UInt32(count))
      poll(descriptors.baseAddress, nfds_t(max(0, used)), 100)
      // Plug-ins take the signal back here.
      var events: UInt16 = 0
      snd_pcm_poll_descriptors_revents(self.pcm, descriptors.baseAddress, UInt32(max(0, used)), &events)
    }
  }

  /// Fetches the sound that is there, 20 ms at most, without waiting.
  func read() throws(PCMFailure) -> Reading {
    let time = try self.position()
    let count = snd_pcm_readi(self.pcm, self.memory.baseAddress, snd_pcm_uframes_t(self.blockSize))
    switch Int32(clamping: count) {
    case -EAGAIN, -EINTR, 0: return .nothing
    case -EPIPE, -ESTRPIPE:
      try self.recover()
      return .gap
    case ..<0: throw PCMFailure(number: Int32(clamping: -count), action: "read", name: self.name)
    default:
      let bytes = self.memory.prefix(count * self.channelCount * self.encoding.byteCount)
      let samples = self.encoding.samples(
        in: UnsafeRawBufferPointer(rebasing: bytes), channels: self.channelCount, keeping: self.format.channelCount)
      return .sound(samples, time)
    }
  }

  /// When the first sample that was not read yet was taken.
  ///
  /// The device tells when it last looked (`htstamp`) and how old that sample then was (`delay`, which counts the
  /// device's own buffers too). Plug-ins leave the former out, and some tell nonsense; then it is now, and the age that
  /// of what waits.
  private func position() throws(PCMFailure) -> MediaTime {
    let result = snd_pcm_status(self.pcm, self.status)
    let now = StreamClock.system.now()
    if result < 0 {
      if ![-EPIPE, -ESTRPIPE].contains(result) { try PCMFailure.check(result, "read", of: self.name) }
      return now
    }
    if snd_pcm_status_get_state(self.status) == SND_PCM_STATE_DISCONNECTED {
      throw PCMFailure(number: ENODEV, action: "read", name: self.name)
    }
    var stamp = snd_htimestamp_t()
    snd_pcm_status_get_htstamp(self.status, &stamp)
    return PCMPosition.time(
      stamp: MediaTime(
        nanoseconds: Int64(stamp.tv_sec).multipliedReportingOverflow(by: 1_000_000_000).partialValue
          &+ Int64(stamp.tv_nsec)),
      available: Int(clamping: snd_pcm_status_get_avail(self.status)),
      delay: Int(snd_pcm_status_get_delay(self.status)), sampleRate: self.format.sampleRate, now: now)
  }

  /// Lets the device run again after it was overrun, or after the machine has slept.
  private func recover() throws(PCMFailure) {
    if snd_pcm_state(self.pcm) == SND_PCM_STATE_SUSPENDED, snd_pcm_resume(self.pcm) >= 0 { return }
    try PCMFailure.check(snd_pcm_prepare(self.pcm), "started", of: self.name)
    _ = try self.start()
  }
}
#endif
