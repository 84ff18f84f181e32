import FuzzEntry

@main
enum FuzzAACDepacketizer {
  static func main() {
    fuzz(.aacDepacketizer)
  }
}
