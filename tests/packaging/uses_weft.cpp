#include <cstdio>

#include "weft/base/error.h"
#include "weft/base/threads.h"

// Exits with 0 if the installed library links and works.
int main() {
  try {
    weft::set_thread_count(0);
  } catch (const weft::Error& error) {
    std::printf("weft::weft links: %s\n", error.what());
    return 0;
  }
  return 1;
}
