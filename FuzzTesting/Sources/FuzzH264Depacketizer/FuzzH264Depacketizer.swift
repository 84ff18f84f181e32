import FuzzEntry

@main
enum FuzzH264Depacketizer {
  static func main() {
    fuzz(.h264Depacketizer)
  }
}
