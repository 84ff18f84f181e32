import Media
import TestSupport
import Testing

@testable import Recording

@Suite("Recorder machine: commands in any interleaving")
struct RecorderMachineTests {
  /// A machine that expectations can refer to.
  private final class Dialogue {
    private var machine = RecorderMachine()

    var isRunning: Bool { self.machine.isRunning }
    var isPaused: Bool { self.machine.isPaused }

    func start() -> Bool { self.machine.start() }
    func started() -> [RecorderMachine.Command] { self.machine.started() }
    func ended() { self.machine.ended() }
    func pause(at time: MediaTime) -> RecorderMachine.Decision { self.machine.pause(at: time) }
    func resume(at time: MediaTime) -> RecorderMachine.Decision { self.machine.resume(at: time) }
    func stop(at time: MediaTime) -> RecorderMachine.Decision { self.machine.stop(at: time) }
  }

  private static func time(_ seconds: Int64) -> MediaTime { .zero + .seconds(seconds) }

  @Test func `a recording is paused, resumed, stopped, and the next one starts at once`() {
    let machine = Dialogue()
    #expect(machine.start())
    #expect(!machine.start(), "one at a time")
    #expect(machine.started() == [])
    #expect(!machine.start())
    #expect(machine.pause(at: Self.time(1)) == .perform(.pause(Self.time(1))))
    #expect(machine.isPaused)
    #expect(machine.pause(at: Self.time(2)) == .nothing)
    #expect(machine.resume(at: Self.time(3)) == .perform(.resume(Self.time(3))))
    #expect(machine.resume(at: Self.time(4)) == .nothing)
    #expect(machine.stop(at: Self.time(5)) == .perform(.stop(Self.time(5))))
    #expect(!machine.isRunning && !machine.isPaused)
    #expect(machine.start())
  }

  @Test func `without a recording every other command is refused`() {
    let machine = Dialogue()
    #expect(machine.pause(at: .zero) == .refused)
    #expect(machine.resume(at: .zero) == .refused)
    #expect(machine.stop(at: .zero) == .refused)
    #expect(!machine.isPaused)
  }

  @Test func `a stop that arrives while a recording starts is obeyed`() {
    let machine = Dialogue()
    #expect(machine.start())
    #expect(machine.stop(at: Self.time(1)) == .nothing)
    #expect(!machine.isRunning)
    #expect(machine.stop(at: Self.time(2)) == .refused, "it is stopped")
    #expect(!machine.start(), "it still starts")
    #expect(machine.started() == [.stop(Self.time(1))])
    #expect(machine.start())
    #expect(machine.started() == [])
    #expect(machine.isRunning)
  }

  @Test func `pauses that arrive while a recording starts are performed in their order`() {
    let machine = Dialogue()
    #expect(machine.start())
    #expect(machine.pause(at: Self.time(1)) == .nothing)
    #expect(machine.isPaused)
    #expect(machine.resume(at: Self.time(2)) == .nothing)
    #expect(machine.pause(at: Self.time(3)) == .nothing)
    #expect(machine.started() == [.pause(Self.time(1)), .resume(Self.time(2)), .pause(Self.time(3))])
    #expect(machine.isPaused && machine.isRunning)
  }

  @Test func `a recording that fails to start, or ends by itself, leaves an idle recorder`() {
    let machine = Dialogue()
    for hasStarted in [false, true] {
      #expect(machine.start())
      #expect(machine.pause(at: .zero) == .nothing)
      if hasStarted { #expect(machine.started() == [.pause(.zero)]) }
      machine.ended()
      #expect(!machine.isPaused && !machine.isRunning)
      #expect(machine.pause(at: .zero) == .refused)
    }
    #expect(machine.start())
  }

  @Test func `over random commands, the state shown is that of the commands performed`() {
    for seed: UInt64 in 0..<200 {
      var generator = SplitMix(seed: seed)
      let machine = Dialogue()
      // State of a session that performs the commands.
      var session: (exists: Bool, isPaused: Bool) = (false, false)
      var isStarting = false
      func perform(_ command: RecorderMachine.Command) {
        switch command {
        case .pause: session.isPaused = true
        case .resume: session.isPaused = false
        case .stop: session = (false, false)
        }
      }
      for step in 0..<60 {
        let now = Self.time(Int64(step))
        var decision = RecorderMachine.Decision.nothing
        switch Int.random(in: 0..<6, using: &generator) {
        case 0:
          let isFree = machine.start()
          #expect(isFree == (!session.exists && !isStarting), "seed \(seed)")
          isStarting = isStarting || isFree
        case 1 where isStarting:
          isStarting = false
          session = (true, false)
          for command in machine.started() { perform(command) }
        case 2: decision = machine.pause(at: now)
        case 3: decision = machine.resume(at: now)
        case 4: decision = machine.stop(at: now)
        case 5 where session.exists:
          machine.ended()
          session = (false, false)
        default: break
        }
        if case .perform(let command) = decision {
          #expect(session.exists && !isStarting, "seed \(seed)")
          perform(command)
        }
        guard !isStarting else { continue }
        #expect(machine.isRunning == session.exists && machine.isPaused == session.isPaused, "seed \(seed)")
      }
    }
  }
}
