import Media
import Testing
import Threading

@testable import Streaming

@Suite("Audio from before the start of a stream", .timeLimit(.minutes(5)))
struct AudioStartTests {
  @Test func `audio from before the start that comes block by block is not replaced by silence`() async throws {
    var settings = AudioSettings()
    settings.timeout = .seconds(8)
    // On a machine that halts for longer than the timeout, again.
    for _ in 0..<20 {
      let (capturer, output) = (ScriptedAudioCapturer(), CollectingOutput())
      let stream = LiveStream("test", audio: settings)
      stream.attachAudio(capturer)
      stream.add(output)
      let start = StreamClock.system.now()
      try await stream.start()
      // The second block was due before the first one has come.
      let time = StreamClock.system.now() - .milliseconds(8_200)
      for index in 0..<8 {
        capturer.deliver(at: time + .ticks(Int64(index) * 1_024, timescale: 48_000), samples: 1_024)
        // The queue is empty then, and the encoder retains a block.
        #expect(output.samples(atLeast: index).count >= index)
      }
      let (silence, samples) = (stream.statistics.silentSamples, output.samples)
      let elapsed = StreamClock.system.now() - start
      await stream.stop()
      guard elapsed < settings.timeout else { continue }
      #expect(silence == 0 && samples.first.map { $0.presentationTime < start } == true)
      return
    }
    Issue.record("the machine halted for eight seconds, twenty times")
  }
}
