/// Thrown where a request is answered with less than it asks for.
struct HTTPRefusal: Error {
  /// The answer.
  var answer: HTTPAnswer

  init(_ answer: HTTPAnswer) {
    self.answer = answer
  }
}
