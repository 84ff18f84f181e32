internal import Libc

/// The system's description of an error number (`strerror`), such as "No such file or directory".
package func systemErrorMessage(_ number: Int32) -> String {
  String(cString: strerror(number))
}
