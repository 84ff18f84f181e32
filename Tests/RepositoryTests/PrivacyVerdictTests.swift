import Foundation
import Testing

/// The measurement of privacy fails where a face is shown, where too much is covered, and where its judge does not end well.
@Suite("Benchmarks/verdict.py")
struct PrivacyVerdictTests {
  /// Result of a scene, as `Benchmarks/privacy.py --json` prints it.
  private struct Scene: Encodable {
    var scene: String
    var requested = 20
    var frames = 20
    var faces = 20
    var leaks: [[Int]] = []
    var added: [[Int]] = []
    var covered: Double
  }

  /// Whether each row of `Benchmarks/run privacy --scenes-only` holds, where its judge prints scenes and ends with a status.
  private func rows(_ scenes: [Scene], status: Int) throws -> [Bool] {
    let script = """
      import contextlib, json, sys, types
      sys.path.insert(0, "Benchmarks")
      import faces, report
      @contextlib.contextmanager
      def running(*command, **options):
          yield types.SimpleNamespace(stdout=map(json.dumps, json.loads(sys.argv[1])), wait=lambda: int(sys.argv[2]))
      faces.running = running
      faces.measure_scenes(types.SimpleNamespace(program="p", frames=20, unprotected=False, scene=[]))
      print(json.dumps([row["holds"] for row in report.ROWS]))
      """
    let printed = String(decoding: try JSONEncoder().encode(scenes), as: UTF8.self)
    let run = try Repository.run(["python3", "-B", "-c", script, printed, String(status)])
    try #require(run.status == 0, "\(run.errors)")
    let last = try #require(run.output.split(separator: "\n").last)
    return try JSONDecoder().decode([Bool].self, from: Data(last.utf8))
  }

  private static let face = Scene(scene: "one", covered: 0.9)

  @Test func `scenes without a leak, with few covers where no face is, hold`() throws {
    let room = Scene(scene: "empty_room", faces: 0, covered: 0.1)
    let animation = Scene(scene: "empty_animation", faces: 0, covered: 0.1)
    #expect(try self.rows([Self.face, room, animation], status: 0) == [true, true, true])
  }

  @Test(arguments: ["empty_room", "empty_animation"])
  func `a scene without faces has a limit of the covered part`(name: String) throws {
    let scene = Scene(scene: name, faces: 0, covered: 0.11)
    #expect(try self.rows([Self.face, scene], status: 1) == [true, false])
  }

  @Test func `a leak, a face that a detector adds, and too few frames do not hold`() throws {
    var (leak, added, few) = (Self.face, Self.face, Self.face)
    leak.leaks = [[1, 2, 3, 4]]
    added.added = [[1, 2, 3, 4]]
    few.frames = 19
    for scene in [leak, added, few] { #expect(try self.rows([Self.face, scene], status: 1) == [false]) }
  }

  @Test func `a judge that ends before it has judged all scenes does not hold`() throws {
    #expect(try self.rows([], status: 1) == [false])
    #expect(try self.rows([], status: 0) == [false])
    #expect(try self.rows([Self.face], status: 1) == [false])
    #expect(try self.rows([Self.face], status: -9) == [false])
  }
}
