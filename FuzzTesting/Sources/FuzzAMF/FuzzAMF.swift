import FuzzEntry

@main
enum FuzzAMF {
  static func main() {
    fuzz(.amf)
  }
}
