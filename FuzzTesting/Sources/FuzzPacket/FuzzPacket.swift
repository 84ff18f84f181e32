import FuzzEntry

@main
enum FuzzPacket {
  static func main() {
    fuzz(.packet)
  }
}
