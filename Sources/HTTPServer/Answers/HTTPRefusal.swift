/// Ends the processing of a request with an error response.
struct HTTPRefusal: Error {
  var answer: HTTPAnswer

  init(_ answer: HTTPAnswer) {
    self.answer = answer
  }
}
