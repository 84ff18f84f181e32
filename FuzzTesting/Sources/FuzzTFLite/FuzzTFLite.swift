import FuzzEntry

@main
enum FuzzTFLite {
  static func main() {
    fuzz(.tflite)
  }
}
