import FuzzEntry

@main
enum FuzzTransportStream {
  static func main() {
    fuzz(.transportStream)
  }
}
