/// JSON event of a saved snapshot.
struct JSONSnapshot: Encodable {
  var event = "snapshot"
  var stream: String
  var path: String
}
