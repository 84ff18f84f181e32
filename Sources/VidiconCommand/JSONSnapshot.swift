/// What programs are told of a picture that was kept.
struct JSONSnapshot: Encodable {
  var event = "snapshot"
  var stream: String
  var path: String
}
