internal import Threading

#if canImport(CALSA)
internal import CALSA
internal import Libc
internal import Media

/// An ALSA PCM open for capture. Used by one thread.
final class PCM {
  /// Outcome of ``read()``.
  enum Reading {
    /// Interleaved samples of at most two channels, and the capture time of the first one.
    case samples([Float], MediaTime)
    /// No sample is ready.
    case nothing
    /// Samples were lost by an overrun or while the machine slept; the device runs again.
    case gap
  }

  /// The name with which the PCM was opened.
  let name: String
  /// Sample rate, and the number of channels kept: 1 or 2.
  let format: AudioFormat
  /// Encoding of the device's samples.
  let encoding: PCMEncoding
  /// Size of the device's buffer in samples per channel.
  let bufferSize: Int
  /// Name that remains valid when cards are renumbered; nil when the PCM was not opened by card number.
  let stableName: String?

  private let pcm: OpaquePointer
  private let status: OpaquePointer
  private let channelCount: Int
  private let memory: UnsafeMutableRawBufferPointer
  private let blockSize: Int

  /// Interval of wake-ups in microseconds: 10 ms, for low latency.
  private static let period: UInt32 = 10_000
  /// Length of the device's buffer in microseconds: a thread blocked for less than half a second loses nothing.
  private static let buffer: UInt32 = 500_000

  /// Opens a PCM with the nearest format that it supports; it does not run yet.
  ///
  /// May block for seconds when a sound server does not respond.
  init(
    opening name: String, near preferred: AudioFormat = AudioFormat(sampleRate: 48_000, channelCount: 2)
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
    let settings: PCMSettings
    do throws(PCMFailure) {
      settings = try PCMSettings(
        negotiating: pcm, name: name, near: preferred, period: Self.period, buffer: Self.buffer)
    } catch {
      snd_pcm_status_free(status)
      snd_pcm_close(pcm)
      throw error
    }
    self.pcm = pcm
    self.status = status
    self.name = name
    self.encoding = settings.encoding
    self.channelCount = settings.channelCount
    self.bufferSize = settings.bufferSize
    self.stableName = SoundCard.stableName(of: pcm, opened: name)
    self.format = AudioFormat(sampleRate: settings.sampleRate, channelCount: min(settings.channelCount, 2))
    self.blockSize = max(settings.sampleRate / 50, 1)
    self.memory = .allocate(
      byteCount: self.blockSize * settings.channelCount * settings.encoding.byteCount, alignment: 16)
    // ALSA's device `null` does not write to it.
    self.memory.initializeMemory(as: UInt8.self, repeating: 0)
  }

  deinit {
    snd_pcm_close(self.pcm)
    snd_pcm_status_free(self.status)
    self.memory.deallocate()
  }

  /// Starts the device.
  ///
  /// - Returns: Number of samples ready at once: 0, unless the device has no clock.
  func start() throws(PCMFailure) -> Int {
    if snd_pcm_state(self.pcm) != SND_PCM_STATE_PREPARED {
      try PCMFailure.check(snd_pcm_prepare(self.pcm), "started", of: self.name)
    }
    if snd_pcm_state(self.pcm) != SND_PCM_STATE_RUNNING {
      try PCMFailure.check(snd_pcm_start(self.pcm), "started", of: self.name)
    }
    return max(0, Int(snd_pcm_avail_update(self.pcm)))
  }

  /// Blocks until samples are ready, at most 100 ms; errors of the device are reported by ``read()``.
  ///
  /// Replaces `snd_pcm_wait`, which restarts its timeout whenever a plug-in wakes it spuriously, as some do without end.
  func wait() throws(PCMFailure) {
    let count = try PCMFailure.check(snd_pcm_poll_descriptors_count(self.pcm), "read", of: self.name)
    withUnsafeTemporaryAllocation(of: pollfd.self, capacity: Int(count)) { descriptors in
      descriptors.initialize(repeating: pollfd())
      let used = snd_pcm_poll_descriptors(self.pcm, descriptors.baseAddress, UInt32(count))
      poll(descriptors.baseAddress, nfds_t(max(0, used)), 100)
      // Plug-ins clear their wake-up signal here.
      var events: UInt16 = 0
      snd_pcm_poll_descriptors_revents(self.pcm, descriptors.baseAddress, UInt32(max(0, used)), &events)
    }
  }

  /// Reads the samples that are ready, at most 20 ms, without blocking.
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
      return .samples(samples, time)
    }
  }

  /// Capture time of the next sample to be read.
  ///
  /// The device reports when it last updated its position (`htstamp`) and the sample's age at that time (`delay`, including
  /// buffers inside the device). Plug-ins may omit the former or report nonsense; then the time of the query and the age of
  /// the queued samples are used.
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

  /// Restarts the device after an overrun or after the machine slept.
  private func recover() throws(PCMFailure) {
    if snd_pcm_state(self.pcm) == SND_PCM_STATE_SUSPENDED, snd_pcm_resume(self.pcm) >= 0 { return }
    try PCMFailure.check(snd_pcm_prepare(self.pcm), "started", of: self.name)
    _ = try self.start()
  }
}
#endif
