#include <openssl/crypto.h>
#include <openssl/ssl.h>
