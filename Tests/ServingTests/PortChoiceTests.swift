import Media
import Serving
import Testing

@Suite("Choice among ports")
struct PortChoiceTests {
  /// Opens the first free port of a choice.
  ///
  /// - Parameter errors: The failures of ports; others are free.
  /// - Returns: The port, and those that were tried.
  private static func open(
    _ choice: PortChoice, errors: [Int: VidiconError.Code]
  ) async -> (Result<Int, VidiconError>, tried: [Int]) {
    var tried: [Int] = []
    do throws(VidiconError) {
      let port = try await choice.open { port throws(VidiconError) in
        tried.append(port)
        if let code = errors[port] {
          throw VidiconError(code, subject: "port \(port)", cause: "a test", nextStep: "none")
        }
        return port
      }
      return (.success(port), tried)
    } catch {
      return (.failure(error), tried)
    }
  }

  @Test(
    arguments: [
      ([:], 1, [1]), ([1: .portInUse], 2, [1, 2]),
      ([1: .portInUse, 2: .portInUse, 3: .notPermitted], 0, [1, 2, 3, 0]),
    ] as [([Int: VidiconError.Code], Int, [Int])])
  func `the first port that can be opened is taken`(
    errors: [Int: VidiconError.Code], port: Int, order: [Int]
  ) async throws {
    let (result, tried) = await Self.open(PortChoice(1, alternatives: [2, 3, 0]), errors: errors)
    #expect(try result.get() == port && tried == order)
  }

  @Test(
    arguments: [
      (PortChoice(1), [1: .portInUse], .portInUse, [1]),
      (PortChoice(1, alternatives: [2]), [1: .portInUse, 2: .failed], .portInUse, [1, 2]),
      // A port that is not open to the user is not in use.
      (PortChoice(1, alternatives: [2]), [1: .notPermitted], .notPermitted, [1]),
    ] as [(PortChoice, [Int: VidiconError.Code], VidiconError.Code, [Int])])
  func `the error is that of the first port`(
    choice: PortChoice, errors: [Int: VidiconError.Code], code: VidiconError.Code, order: [Int]
  ) async {
    let (result, tried) = await Self.open(choice, errors: errors)
    #expect(throws: VidiconError(code, subject: "port 1", cause: "a test", nextStep: "none")) { try result.get() }
    #expect(tried == order)
  }
}
