import FuzzEntry

@main
enum FuzzSRTP {
  static func main() {
    fuzz(.srtp)
  }
}
