import FuzzEntry

@main
enum FuzzDeviceReply {
  static func main() {
    fuzz(.deviceReply)
  }
}
